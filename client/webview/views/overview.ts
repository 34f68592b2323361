// The first screen: is something wrong, what did it become, what does it cost.
import { html, nothing, type TemplateResult } from "lit-html";
import type { Comparison, FindingRow, PanelModel } from "../../src/protocol.generated.ts";
import type { FixRequest } from "../messages.ts";
import { bytes, counted } from "../numbers.ts";
import type { Context } from "./context.ts";
import { icon, severityIcon } from "./icons.ts";
import { memory } from "./memory.ts";
import { pairs } from "./pairs.ts";
import { button, link, prose } from "./parts.ts";
import { pipeline } from "./pipeline.ts";
import { onlyRecorded } from "./recorded.ts";
import { ended, running } from "./running.ts";

export function overview(context: Context, model: PanelModel): TemplateResult {
  return html`${findingBox(context, model)}
    ${running(context)} ${ended(context, "time", () => measure(context, model))}
    ${model.onlyRecorded ? onlyRecorded(context, model.onlyRecorded) : nothing}
    ${pipeline(context, model)}
    ${capturedAgainstHoisted(context, model)}
    <div class="cols"><div>${findings(context, model)}</div><div>${memory(context)}</div></div>`;
}

export const serious = (model: PanelModel): FindingRow[] =>
  model.findings.filter(({ severity }) => severity === "warning" || severity === "error");

/** Findings of one name on several lines are one array. */
function arrays(found: readonly FindingRow[]): FindingRow[] {
  return [...new Map(found.map((finding) => [finding.name, finding])).values()];
}

export function findingBox(context: Context, model: PanelModel): TemplateResult {
  const found = arrays(serious(model));
  if (found.length === 0) return html`<p class="plain-line">Nothing captured above ${bytes(model.threshold)}.</p>`;
  const { send } = context;
  return html`<div class="look">
    ${icon("warning", "warn", "warning")}
    <div>
      <p><b>${summary(model, found)}</b> ${gain(context.state.timings?.comparison ?? [])}</p>
      <p class="acts">
        ${fixButton(context, found)}
        ${context.state.timings?.comparison.length ? nothing : costButton(context, model)}
        ${model.constants.length > 0 ? button("Show constants", () => send({ type: "tab", tab: "constants" })) : nothing}
      </p>
    </div>
  </div>`;
}

function summary(model: PanelModel, found: readonly FindingRow[]): unknown {
  const [first] = found;
  if (found.length === 1 || found.some(({ rule }) => rule !== first?.rule)) return html`${prose(first?.message ?? "")}.`;
  const sizes = found.map((finding) => finding.bytes);
  const known = sizes.every((size) => size !== null) ? `, ${bytes(sizes.reduce((sum, size) => sum + (size ?? 0), 0))},` : "";
  const seen = found.some(({ evidence }) => evidence !== "static");
  return html`${counted(found.length, "array")}${known} ${seen ? "are" : "may be"} compiled into
    <code>${model.function}</code> as constants${seen ? "" : " (inferred)"}.`;
}

/** What the hoisted form buys, only from what was measured and could be compared. */
function gain(rows: readonly Comparison[]): string {
  const size = rows.find(({ label }) => label === "StableHLO module");
  const compile = rows.find(({ label, verdict }) => label === "compile" && /× faster$/.test(verdict));
  if (typeof size?.hoisted !== "number") return "";
  return `As arguments the module is ${bytes(size.hoisted)}${compile ? ` and compiles ${compile.verdict}` : ""}.`;
}

const request = ({ rule, name, line }: FindingRow): FixRequest => ({ rule, name, line });

function fixButton({ post }: Context, found: readonly FindingRow[]): TemplateResult | typeof nothing {
  const fixable = found.filter(({ fix }) => fix !== null);
  const [first] = fixable;
  if (!first) return nothing;
  const title = fixable.length === 1 ? prose(first.fix ?? "") : `Pass all ${fixable.length} as arguments`;
  return button(title, () => post({ type: "fix", fixes: fixable.map(request) }), true);
}

const measure = ({ post }: Context, model: PanelModel): void =>
  post({ type: "time", forms: model.constants.length > 0 ? ["captured", "hoisted"] : ["captured"] });

const costButton = (context: Context, model: PanelModel): TemplateResult | typeof nothing =>
  model.state === "ready" && !model.onlyRecorded && model.constants.length > 0 && context.state.work.time === undefined
    ? button("See what it costs", () => measure(context, model))
    : nothing;

function capturedAgainstHoisted(context: Context, model: PanelModel): TemplateResult | typeof nothing {
  const count = model.constants.length;
  if (count === 0 || model.onlyRecorded) return nothing;
  const rows = context.state.timings?.comparison ?? [];
  const what = count === 1 ? "the array as an argument" : `the ${count} arrays as arguments`;
  return html`<h2>Captured against hoisted <span class="aside">the same program with ${what}</span></h2>
    ${rows.length > 0 ? pairs(rows) : html`<p class="acts">${measureButton(context, model)}</p>`}`;
}

const measureButton = (context: Context, model: PanelModel): TemplateResult =>
  context.state.work.time === undefined ? button("Measure", () => measure(context, model)) : html`<span class="dim">Being measured.</span>`;

export function findings(context: Context, model: PanelModel): TemplateResult {
  const traced = model.findings.filter(({ evidence }) => evidence !== "static").length;
  const where = model.findings.some(({ evidence }) => evidence === "recorded") ? "a recorded run" : "the trace";
  const seen = `${traced} seen in ${where}${traced === model.findings.length ? "" : ", the others inferred"}`;
  return html`${model.findings.length > 0 ? html`<h2>Findings <span class="aside">${traced > 0 ? seen : "inferred"}</span></h2>
      <ul class="finds" @keydown=${moveFocus}>${model.findings.map((finding) => findingRow(context, finding))}</ul>` : nothing}
    ${refuted(context, model)}`;
}

function findingRow(context: Context, finding: FindingRow): TemplateResult {
  const { post } = context;
  const actions = (event: KeyboardEvent) => {
    if (event.key !== "." || finding.fix === null) return;
    event.preventDefault();
    post({ type: "fix", fixes: [request(finding)] });
  };
  return html`<li title=${finding.message.replaceAll("`", "")} @keydown=${actions}>
    ${severityIcon(finding.severity)}<code title=${finding.name}>${finding.name}</code><span title=${finding.type}>${finding.type}</span>
    <span class="n">${finding.bytes === null ? "" : bytes(finding.bytes, 2)}</span><div class="at">${link(context, finding)}</div>
  </li>`;
}

/** Arrow keys go from finding to finding. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const links = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("a")];
  const next = links[links.indexOf(event.target as HTMLElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function refuted(context: Context, model: PanelModel): TemplateResult | typeof nothing {
  if (model.refuted.length === 0) return nothing;
  return html`<p class="note"><b>${model.refuted.length} hidden by the trace:</b></p>
    <ul class="refuted note">${model.refuted.map(
      ({ name, line, reason }) => html`<li><code>${name}</code> ${link(context, { path: model.path, line })} ${prose(reason)}</li>`,
    )}</ul>`;
}
