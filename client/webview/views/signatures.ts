// The function's signature and where its shapes come from; the list of those known, of which one is shown.
import { html, nothing, type TemplateResult } from "lit-html";
import type { PanelModel, Signature } from "../../src/protocol.generated.ts";
import { counted } from "../numbers.ts";
import type { Context } from "./context.ts";
import { icon } from "./icons.ts";

export const shownSignature = (model: PanelModel): Signature | undefined => model.signatures.find(({ id }) => id === model.signature);

export function signatureRow(context: Context, model: PanelModel, shown: Signature): TemplateResult {
  const { state, send } = context;
  const at = state.signatureAt;
  const open = () => send({ type: "signatures", at: at === null ? model.signatures.indexOf(shown) : null });
  return html`<div class="head-row sig">
      ${signatureText(shown)}
      <button class="chip" role="combobox" aria-haspopup="listbox" aria-expanded=${at === null ? "false" : "true"} aria-controls=${at === null ? nothing : "signatures"}
        aria-activedescendant=${at === null ? nothing : `signature-${at}`} title="Where the shapes come from"
        @click=${open} @keydown=${keys(context, model, shown)} @blur=${() => send({ type: "signatures", at: null })}
        >${origin(shown)} ${icon("down", "s")}</button>
    </div>
    ${at === null ? nothing : list(context, model)}`;
}

/** The focus stays on the chip, which is why the list does not take it when the mouse goes down. */
function list(context: Context, model: PanelModel): TemplateResult {
  const known = model.signatures.map((one, index) =>
    option(context, model, index, html`${signatureText(one)} <span class="dim">${origin(one)}${one.recorded ? ` · ${one.recorded}` : ""}</span>`),
  );
  return html`<ul id="signatures" class="signatures" role="listbox" aria-label="Known signatures"
    @mousedown=${(event: Event) => event.preventDefault()}>${known}${option(context, model, known.length, "Declare shapes…")}</ul>`;
}

const signatureText = ({ parameters, out }: Signature): TemplateResult =>
  html`<code class="sigtext">${parameters.map(
      ([name, type], index) => html`<span>${name}: <b>${type}</b>${index + 1 < parameters.length ? ", " : ""}</span>`,
    )} → <span><b>${out.length === 1 ? out[0] : `(${out.join(", ")})`}</b></span></code>`;

const origin = ({ source, origin: from, calls }: Signature): TemplateResult =>
  html`<span class=${source === "guess" ? "guess" : "k"}>${source}</span>
    ${from || calls > 1 ? html`<span>${[from, calls > 1 ? counted(calls, "call") : ""].filter(Boolean).join(", ")}</span>` : nothing}`;

function option(context: Context, model: PanelModel, index: number, text: unknown): TemplateResult {
  const selected = model.signatures[index]?.id === model.signature;
  return html`<li id=${`signature-${index}`} role="option" class=${index === context.state.signatureAt ? "cur" : ""} aria-selected=${selected ? "true" : "false"}
    @click=${() => choose(context, model, index)}><span class="mark">${selected ? icon("check", "s") : nothing}</span><span>${text}</span></li>`;
}

function choose({ send, post }: Context, model: PanelModel, index: number): void {
  const chosen = model.signatures[index];
  if (chosen) send({ type: "signature", signature: chosen.id });
  else post({ type: "do", action: "declareShapes" });
  send({ type: "signatures", at: null });
}

function keys(context: Context, model: PanelModel, shown: Signature): (event: KeyboardEvent) => void {
  const { state, send } = context;
  const last = model.signatures.length;
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = state.signatureAt;
    const to = { ArrowDown: (at ?? 0) + 1, ArrowUp: (at ?? 0) - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) send({ type: "signatures", at: at === null ? model.signatures.indexOf(shown) : Math.max(0, Math.min(last, to)) });
    else if (at !== null && (event.key === "Enter" || event.key === " ")) choose(context, model, at);
    else if (at !== null && event.key === "Escape") send({ type: "signatures", at: null });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}
