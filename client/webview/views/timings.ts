// The Timings tab: what each stage takes once per signature, and what a call takes after that.
import { html, nothing, type TemplateResult } from "lit-html";
import type { Comparison, FormTimings, PanelModel, Spread, Timings } from "../../src/protocol.generated.ts";
import { quartiles } from "../distribution.ts";
import type { Form } from "../messages.ts";
import { flops, isDispatchBound, seconds } from "../numbers.ts";
import type { State } from "../state.ts";
import type { Context } from "./context.ts";
import { distribution } from "./distribution.ts";
import { bar } from "./pairs.ts";
import { button, prose, verdict } from "./parts.ts";
import { ended, running } from "./running.ts";

const ONCE = ["trace", "lower", "compile"] as const;
const NAMES: Readonly<Record<State["compare"], string>> = { both: "captured against hoisted", captured: "captured", hoisted: "hoisted" };

export function timings(context: Context, model: PanelModel): TemplateResult {
  const { state, post } = context;
  const again = () => post({ type: "time", forms: wanted(state, model) });
  return html`${picker(context, model, again)} ${running(context)} ${ended(context, "time", again)}
    ${state.timings ? results(state, state.timings) : nothing}`;
}

/** The forms to time. A function without captured arrays has one form only. */
function wanted({ compare }: State, model: PanelModel): readonly Form[] {
  if (model.constants.length === 0) return ["captured"];
  return compare === "both" ? ["captured", "hoisted"] : [compare];
}

function picker({ state, send }: Context, model: PanelModel, again: () => void): TemplateResult {
  const choices = Object.keys(NAMES) as State["compare"][];
  const choose = (event: Event) => send({ type: "compare", compare: (event.target as HTMLSelectElement).value as State["compare"] });
  return html`<div class="bar in">
    ${model.constants.length > 0 ? html`<label>Time <select .value=${state.compare} @change=${choose}>${choices.map(
      (choice) => html`<option value=${choice} ?selected=${choice === state.compare}>${NAMES[choice]}</option>`,
    )}</select></label>` : nothing}
    <span class="grow"></span>
    ${state.work.time === undefined ? button(state.timings ? "Time again" : "Time", again, !state.timings) : nothing}
  </div>`;
}

function results(state: State, measured: Timings): TemplateResult {
  const forms = measured.forms.filter(({ form }) => state.compare === "both" || state.compare === form || measured.forms.length === 1);
  const runs = forms.flatMap((form) => spreadOf(form, "run").map((spread) => ({ name: form.form, spread })));
  return html`${once(forms, measured)}
    ${runs.length > 0 ? html`<h2>Each call after that <span class="aside">${runCounts(runs)}, blocked on the result</span></h2>
      ${distribution(runs, state.size.width)} ${figures(runs)} ${perCall(forms, measured.comparison)}` : nothing}
    ${measured.difference === null ? nothing : html`<p class="note">Largest difference of the results: ${measured.difference === 0 ? "none" : measured.difference.toPrecision(3)}.</p>`}
    ${measured.alarms.map((alarm) => html`<p class="note">XLA says: ${prose(alarm)}</p>`)}`;
}

const spreadOf = (form: FormTimings, stage: string): Spread[] => form.stages.filter((spread) => spread.stage === stage);

type Run = { readonly name: Form; readonly spread: Spread };

function runCounts(runs: readonly Run[]): string {
  const counts = [...new Set(runs.map(({ spread }) => spread.runs))];
  return counts.length === 1 ? `${counts[0]} runs${runs.length > 1 ? " each" : ""}` : runs.map(({ spread, name }) => `${spread.runs} runs ${name}`).join(", ");
}

function once(forms: readonly FormTimings[], measured: Timings): TemplateResult | typeof nothing {
  const all = forms.flatMap((form) => ONCE.flatMap((stage) => spreadOf(form, stage)));
  if (all.length === 0) return nothing;
  const scale = Math.max(...all.map(({ median }) => median));
  return html`<h2>Once per signature <span class="aside">median, interquartile range</span></h2>
    <table class="pairs time">
      <thead class="sr"><tr><th scope="col">stage</th><th scope="col">captured and hoisted</th><th scope="col">verdict</th></tr></thead>
      <tbody>${ONCE.filter((stage) => all.some((spread) => spread.stage === stage)).map((stage) => stageRow(stage, forms, measured, scale))}</tbody>
    </table>`;
}

function stageRow(stage: string, forms: readonly FormTimings[], measured: Timings, scale: number): TemplateResult {
  const words = forms.length > 1 ? measured.comparison.find(({ label }) => label === stage)?.verdict ?? "" : "";
  return html`<tr><th scope="row">${stage}<small>${sampleCount(stage, forms)}</small></th>
    <td>${forms.map(({ form, stages }) => stages
      .filter((spread) => spread.stage === stage)
      .map((spread) => bar(form, form === "captured" ? "a" : "b", spread.median, "seconds", scale, range(spread))))}</td>
    <td>${verdict(words)}</td></tr>`;
}

const sampleCount = (stage: string, forms: readonly FormTimings[]): string => {
  const counts = [...new Set(forms.flatMap((form) => spreadOf(form, stage)).map(({ runs }) => (runs === 1 ? "1 sample" : `${runs} samples`)))];
  return counts.join(", ");
};

/** `12.9–21.3`, in the unit of the median. */
function range(spread: Spread): string {
  if (spread.runs < 2) return "";
  const [low, high] = quartiles(spread.samples);
  const [scale, decimals] = unitOf(spread.median);
  return `${(low * scale).toFixed(decimals)}–${(high * scale).toFixed(decimals)}`;
}

function unitOf(median: number): readonly [number, number, string] {
  if (median < 999.5e-6) return [1e6, median < 9.95e-6 ? 1 : 0, "µs"];
  return median < 0.9995 ? [1e3, median < 0.09995 ? 1 : 0, "ms"] : [1, 2, "s"];
}

function figures(runs: readonly Run[]): TemplateResult {
  const [scale, decimals, unit] = unitOf(Math.min(...runs.map(({ spread }) => spread.median)));
  const digits = (value: number) => (value * scale).toFixed(decimals);
  return html`<table class="grid nums">
    <thead><tr><th scope="col">${unit} per call</th><th scope="col" class="n">min</th><th scope="col" class="n">median</th>
      <th scope="col" class="n">IQR</th><th scope="col" class="n">runs</th></tr></thead>
    <tbody>${runs.map(({ name, spread }) => {
      const [low, high] = quartiles(spread.samples);
      return html`<tr><td>${name}</td><td class="n">${digits(spread.minimum)}</td><td class="n"><b>${digits(spread.median)}</b></td>
        <td class="n">${spread.runs < 2 ? "" : `${digits(low)}–${digits(high)}`}</td><td class="n">${spread.runs}</td></tr>`;
    })}</tbody>
  </table>`;
}

function perCall(forms: readonly FormTimings[], comparison: readonly Comparison[]): TemplateResult {
  const row = comparison.find(({ label }) => label === "run");
  const notes = forms.map(rate).filter(Boolean);
  return html`${forms.length > 1 && row?.verdict ? html`<div class="verdict"><p>${judged(row)}</p></div>` : nothing}
    ${notes.map((note) => html`<p class="note">${note}</p>`)}`;
}

/** What the comparison says, and why, in figures. */
function judged({ verdict: words, captured, hoisted }: Comparison): unknown {
  const sign = /^([≈?]) (.)(.*)$/.exec(words);
  if (!sign) {
    const figures = captured === null || hoisted === null ? "" : `: ${seconds(captured)} captured, ${seconds(hoisted)} hoisted`;
    return html`${verdict(words)}${figures}.`;
  }
  const apart = captured === null || hoisted === null ? "" : ` The medians are ${seconds(Math.abs(captured - hoisted))} apart`;
  const why = sign[1] === "≈" && apart ? `${apart} and the middle halves overlap.` : "";
  return html`<span class="same">${sign[1]}</span> <b>${sign[2]?.toUpperCase()}${sign[3]}.</b>${why}`;
}

function rate(form: FormTimings): string {
  const [run] = spreadOf(form, "run");
  if (!run) return "";
  if (isDispatchBound(run.median)) return `${form.form}: dispatch-bound. Below 10 µs the time is that of the dispatch, not of the program.`;
  return form.flops && form.form === "captured" ? `${flops(form.flops / run.median)}/s at the median (${flops(form.flops)}).` : "";
}
