// What lowering made of the constants: the class of every constant operation, and the arguments of @main.
import { html, nothing, type TemplateResult } from "lit-html";
import type { ConstantsLowered, LiteralClass, MainArgument } from "../../src/protocol.generated.ts";
import { css } from "../dom/css.ts";
import { bytes, counted } from "../numbers.ts";
import { icon } from "./icons.ts";
import { prose } from "./parts.ts";

const ARGUMENTS_SHOWN = 60;

const CLASSES: Readonly<Record<LiteralClass["literal"], readonly [string, string]>> = {
  captured: ["captured", "hotfill"],
  scalar: ["scalar literal", "s3"],
  lowering: ["born in lowering", "s4"],
  small: ["small", ""],
};

/** What every constant operation of the module is. */
export function classes({ classes: all, functions }: ConstantsLowered): TemplateResult {
  const count = all.reduce((sum, one) => sum + one.count, 0);
  const label = all.map((one) => `${one.count} ${CLASSES[one.literal][0]}`).join(", ");
  return html`<h2>Every <code>stablehlo.constant</code> <span class="aside">${count} in ${counted(functions, "function")}</span></h2>
    <div class="stack" role="img" aria-label=${label}>${all.map(({ literal, count: share }) =>
      share > 0 ? html`<i class=${CLASSES[literal][1]} ${css({ flex: `${share} 0 1px` })}></i>` : nothing,
    )}</div>
    <table class="kv classes"><tbody>${all.map(
      (one) => html`<tr><th scope="row"><i class="sw ${CLASSES[one.literal][1]}"></i>${CLASSES[one.literal][0]}</th><td>${one.count}</td>
        <td class="size">${one.count > 0 ? bytes(one.bytes) : ""}</td><td class="why">${prose(one.words)}</td></tr>`,
    )}</tbody></table>`;
}

const KINDS = [
  ["dimension", "dimension variables"],
  ["token", "tokens"],
  ["const", "const args"],
  ["array", "array arguments"],
] as const;

/** The arguments of `@main` in their order, as JAX passes them and with the constants moved out. */
export function argumentOrder(lowered: ConstantsLowered, hoists: boolean): TemplateResult {
  const moved = hoists && lowered.hoisted.some(({ kind }) => kind === "const");
  return html`<h2>Arguments of <code>@main</code>, in order</h2>
    <div class="argrow"><span class="arglabel" id="args-captured">as it is</span>${list(lowered.captured, "args-captured")}</div>
    ${moved ? html`<div class="argrow"><span class="arglabel" id="args-hoisted">hoisted</span>${list(lowered.hoisted, "args-hoisted")}</div>
      <p class="note"><i class="sw ca"></i>constant passed as an argument${aside(lowered)}</p>` : nothing}
    ${lowered.unused.length > 0 ? html`<p class="note">Not read, so not passed: ${lowered.unused.map((name, index) => html`${index > 0 ? ", " : ""}<code>${name}</code>`)}.</p>` : nothing}`;
}

const aside = ({ moduleBytes, hoistedBytes }: ConstantsLowered): string =>
  `; the module is then ${bytes(hoistedBytes)} instead of ${bytes(moduleBytes)}`;

function list(all: readonly MainArgument[], label: string): TemplateResult {
  const shown = all.slice(0, ARGUMENTS_SHOWN);
  const rest = all.slice(ARGUMENTS_SHOWN);
  return html`<ol class="args" aria-labelledby=${label}>${KINDS.map(([kind, words]) => {
    const of = shown.filter((one) => one.kind === kind);
    return of.length === 0 && !all.some((one) => one.kind === kind) ? html`<li class="none">${words} <b>0</b></li>` : of.map(argument);
  })}${rest.length > 0 ? html`<li class="none">and ${counted(rest.length, "more")} <b>${bytes(rest.reduce((sum, one) => sum + one.bytes, 0))}</b></li>` : nothing}</ol>`;
}

function argument(one: MainArgument): TemplateResult {
  const more = [one.sharding, one.layout && `layout ${one.layout}`, one.donated ? "donated" : ""].filter(Boolean);
  const title = [one.kind === "const" ? "constant" : one.kind, one.type, ...more].join(", ");
  return html`<li class=${one.kind === "const" ? "ca" : ""} title=${title}><b>${one.name || one.type}</b>${
    one.kind === "token" ? nothing : html` <span>${one.kind === "dimension" ? one.type : bytes(one.bytes, 2)}${more.map((each) => html` · ${each}`)}</span>`
  }</li>`;
}

/** What follows for this JAX, and what inlining loses. */
export function losses({ lost }: ConstantsLowered): TemplateResult | typeof nothing {
  return lost.length === 0 ? nothing : html`<ul class="lost">${lost.map((sentence) => html`<li>${icon("warning", "warn")}<span>${prose(sentence)}</span></li>`)}</ul>`;
}

export function notes({ notes: all }: ConstantsLowered): TemplateResult | typeof nothing {
  return all.length === 0 ? nothing : html`<h2>In this JAX</h2>${all.map((sentence) => html`<p class="note">${prose(sentence)}</p>`)}`;
}
