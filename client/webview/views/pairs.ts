// Captured against hoisted: two bars a row, on a scale of the row's own.
import { html, type TemplateResult } from "lit-html";
import type { Comparison } from "../../src/protocol.generated.ts";
import { css, percent } from "../dom/css.ts";
import { amount } from "../numbers.ts";
import { verdict } from "./parts.ts";

export function pairs(rows: readonly Comparison[]): TemplateResult {
  return html`<table class="pairs">
    <thead class="sr"><tr><th scope="col">measure</th><th scope="col">captured and hoisted</th><th scope="col">difference</th></tr></thead>
    <tbody>${rows.map(pairRow)}</tbody>
  </table>`;
}

function pairRow({ label, note, unit, captured, hoisted, verdict: words }: Comparison): TemplateResult {
  const scale = Math.max(captured ?? 0, hoisted ?? 0);
  return html`<tr>
    <th scope="row">${label}${note ? html`<small>${note}</small>` : ""}</th>
    <td>${bar("captured", "a", captured, unit, scale)}${bar("hoisted", "b", hoisted, unit, scale)}</td>
    <td>${verdict(words)}</td>
  </tr>`;
}

/** One bar with its name and figure. The figure is absent when it is not known. */
export function bar(name: string, style: "a" | "b", value: number | null, unit: Comparison["unit"], scale: number, range?: string): TemplateResult {
  const share = value === null || scale === 0 ? 0 : value / scale;
  return html`<div class="pairline">
    <span class="who">${name}</span>
    <div class="track" aria-hidden="true"><i class=${share < 0.002 ? `${style} z` : style} ${css({ width: percent(share) })}></i></div>
    <span class="fig">${value === null ? "" : amount(value, unit)}</span>
    ${range === undefined ? "" : html`<span class="rng">${range}</span>`}
  </div>`;
}
