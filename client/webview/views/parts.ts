// Small pieces that several views share.
import { html, nothing, type TemplateResult } from "lit-html";
import type { SourceLine } from "../../src/protocol.generated.ts";
import type { Action } from "../messages.ts";
import { shortPlace, spokenPlace } from "../numbers.ts";
import type { Context } from "./context.ts";

/** A place in the source, `:29`, that goes there. */
export function link({ state, post }: Context, place: SourceLine, text?: string): TemplateResult {
  const here = state.model?.path ?? "";
  const changed = place.path === here && (state.model?.staleLines ?? []).includes(place.line);
  const go = (event: Event) => {
    event.preventDefault();
    post({ type: "goto", place: { path: place.path, line: place.line } });
  };
  return html`<a href="#" class="loc" aria-label=${`Go to ${spokenPlace(place, here)}`} @click=${go}
    >${text ?? shortPlace(place, here)}</a>${changed ? html`<span class="note"> (changed)</span>` : nothing}`;
}

export function button(text: unknown, onClick: () => void, primary = false): TemplateResult {
  return html`<button class="btn ${primary ? "primary" : ""}" @click=${onClick}>${text}</button>`;
}

/** A button for something that the extension does by itself. */
export const doing = ({ post }: Context, text: string, action: Action, primary = false): TemplateResult =>
  button(text, () => post({ type: "do", action }), primary);

/** Text in which `code` between backticks is set as code. */
export function prose(text: string): unknown {
  return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** The first sentence and the rest. A dot inside a file's name or a figure ends no sentence. */
export function firstSentence(text: string): readonly [string, string] {
  const end = /[.?!](?=\s)/.exec(text);
  if (!end) return [text.replace(/\.$/, ""), ""];
  const mark = end[0] === "." ? "" : end[0];
  return [text.slice(0, end.index) + mark, text.slice(end.index + 1).trim()];
}

/** A verdict by the comparison rule; its sign and its ratio stand out. */
export function verdict(words: string): unknown {
  const sign = /^([≈?])\s*(.*)$/.exec(words);
  if (sign) return html`<span class="same">${sign[1]}</span> ${sign[2]}`;
  const ratio = /^([\d.,]+ ×)\s*(.*)$/.exec(words);
  if (ratio) return html`<b>${ratio[1]}</b> ${ratio[2]}`;
  return words;
}
