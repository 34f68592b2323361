// The stages from Python to device code, each with its count, its size and its share of the time.
import { html, nothing, type TemplateResult } from "lit-html";
import type { FormTimings, PanelModel } from "../../src/protocol.generated.ts";
import { css, percent } from "../dom/css.ts";
import type { Tab } from "../messages.ts";
import { bytes, counted, seconds, thousands } from "../numbers.ts";
import type { State } from "../state.ts";
import type { Context } from "./context.ts";
import { button } from "./parts.ts";

interface Step {
  readonly title: string;
  readonly tab?: Tab;
  readonly count?: string;
  readonly unit?: string;
  readonly size?: string;
  /** Are captured arrays what makes it large? */
  readonly hot?: boolean;
  /** What made it, and how long that took. */
  readonly by?: string;
  readonly time?: number | undefined;
  /** What makes it, when it is not made yet. */
  readonly make?: TemplateResult;
}

export function pipeline(context: Context, model: PanelModel): TemplateResult {
  const made = model.onlyRecorded ? [] : [stablehlo(context, model), hlo(context), deviceCode(context)];
  const steps = [python(model), jaxpr(model), ...made].filter((step) => step !== null);
  const total = steps.reduce((sum, { time }) => sum + (time ?? 0), 0);
  const whole = steps.filter(({ time }) => time !== undefined).length === 3;
  return html`<h2>Pipeline ${whole ? html`<span class="aside">${seconds(total)} from Python to device code</span>` : nothing}</h2>
    <ol class="pipe">${steps.map((step) => stepItem(context, step, total))}</ol>`;
}

const captured = (state: State): FormTimings | undefined => state.timings?.forms.find(({ form }) => form === "captured");

const median = (state: State, stage: string): number | undefined =>
  captured(state)?.stages.find((spread) => spread.stage === stage)?.median;

const python = ({ python: stage }: PanelModel): Step | null =>
  stage && { title: "Python", count: thousands(stage.lines), unit: stage.lines === 1 ? "line" : "lines", size: bytes(stage.bytes) };

const jaxpr = ({ jaxpr: stage }: PanelModel): Step | null =>
  stage && {
    title: "Jaxpr",
    count: thousands(stage.equations),
    unit: stage.equations === 1 ? "equation" : "equations",
    size: counted(stage.constants, "const"),
    by: "trace",
    time: stage.seconds ?? undefined,
  };

function stablehlo({ state, send }: Context, model: PanelModel): Step {
  const program = state.programs.captured;
  const size = program?.moduleBytes ?? captured(state)?.moduleBytes ?? null;
  const step = { title: "StableHLO", tab: "stablehlo" as const, by: "lower", time: median(state, "lower") ?? program?.seconds ?? undefined };
  const show = button("Lower", () => send({ type: "tab", tab: "stablehlo" }));
  if (!program && size === null) return { ...step, make: show };
  const count = program ? { count: thousands(program.operations), unit: program.operations === 1 ? "op" : "ops" } : { make: show };
  const constants = model.constants.reduce((sum, constant) => sum + constant.bytes, 0);
  return { ...step, ...count, ...(size === null ? {} : { size: bytes(size), hot: constants >= model.threshold && constants > size / 2 }) };
}

function hlo({ state, post }: Context): Step {
  const instructions = state.timings?.hloInstructions ?? null;
  const step = { title: "HLO", by: "compile", time: median(state, "compile") };
  if (instructions === null && step.time !== undefined) return step;
  if (instructions === null) {
    const compile = button("Compile", () => post({ type: "time", forms: ["captured"] }));
    return { ...step, make: state.work.time === undefined ? compile : html`<span class="dim">under way</span>` };
  }
  const fusions = state.timings?.fusions;
  return {
    ...step,
    count: thousands(instructions),
    unit: "instr.",
    ...(typeof fusions === "number" ? { size: counted(fusions, "fusion") } : {}),
  };
}

function deviceCode({ state }: Context): Step | null {
  const size = captured(state)?.codeBytes ?? null;
  if (size === null) return null;
  const [count = "", unit = ""] = bytes(size).split(" ");
  return { title: "Device code", count, unit, by: "in compile" };
}

function stepItem({ send }: Context, step: Step, total: number): TemplateResult {
  const { tab } = step;
  const open = (event: Event) => {
    event.preventDefault();
    if (tab) send({ type: "tab", tab });
  };
  return html`<li>
    <h3>${tab ? html`<a href="#" @click=${open}>${step.title}</a>` : step.title}</h3>
    <p class="big">${step.make ?? html`${step.count ?? ""} <small>${step.unit ?? ""}</small>`}</p>
    <p class=${step.hot ? "hot" : ""}>${step.size ?? ""}</p>
    <p class="ms">${step.by ? (step.time === undefined ? inCompile(step) : html`${step.by} <b>${seconds(step.time)}</b>`) : nothing}</p>
    ${step.time === undefined || total === 0
      ? nothing
      : html`<div class="meter" role="img" aria-label=${`${percent(step.time / total)} of the time`}><i ${css({ width: percent(step.time / total) })}></i></div>`}
  </li>`;
}

const inCompile = ({ by }: Step): string => (by === "in compile" ? by : "");
