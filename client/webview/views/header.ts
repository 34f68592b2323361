// The panel's head: which function, with which shapes, how far it is, and the tabs.
import { html, nothing, type TemplateResult } from "lit-html";
import type { PanelModel } from "../../src/protocol.generated.ts";
import { TABS, type Tab } from "../messages.ts";
import { fullPlace } from "../numbers.ts";
import { activeStage, STAGES, type StageName } from "../stages.ts";
import type { Context } from "./context.ts";
import { icon } from "./icons.ts";
import { link } from "./parts.ts";
import { shownSignature, signatureRow } from "./signatures.ts";

export function header(context: Context, model: PanelModel): TemplateResult {
  const shapes = model.state === "ready" || model.state === "running" || model.state === "stopped";
  const shown = shownSignature(model);
  return html`<header class="head">
    <div class="head-row">
      <h1>${model.function ? html`<code>${model.function}</code>` : "jaxscope"}</h1>
      ${model.line ? link(context, model, fullPlace(model)) : nothing}
      <span class="grow"></span>${tools(context)}
    </div>
    ${shapes && shown ? signatureRow(context, model, shown) : nothing}
    ${model.state === "ready" ? statusRow(context, model) : nothing}
  </header>`;
}

function tools({ state, send, post }: Context): TemplateResult {
  return html`<button class="icon" aria-pressed=${state.pinned ? "true" : "false"} title="Stay on this function (P)"
      aria-label="Pin" @click=${() => send({ type: "pin" })}>${icon("pin")}</button>
    <button class="icon" title="Trace again (R)" aria-label="Trace again" @click=${() => post({ type: "refresh" })}
      >${icon("refresh")}</button>`;
}

function statusRow({ state }: Context, model: PanelModel): TemplateResult {
  const program = state.programs.captured ?? state.programs.hoisted;
  const done: Readonly<Record<StageName, boolean>> = {
    trace: model.jaxpr !== null,
    lower: Boolean(program ?? state.timings),
    compile: state.timings !== null,
    run: state.timings !== null,
  };
  const active = activeStage(state);
  const reached = active ? STAGES.indexOf(active) : 0;
  const device = state.timings?.device ?? program?.platform;
  return html`<div class="head-row status">
    <ol class="stages" role="status" aria-label="Stages">${STAGES.map((stage, index) =>
      model.onlyRecorded && !done[stage] ? notHere(stage) : stageMark(stage, done[stage] || index < reached, stage === active),
    )}</ol>
    <span class="grow"></span>
    ${device ? html`<span class="chip still" title="Device that compiles and times"><span class="k">${device.split(" ")[0]}</span>
      <span class="x">${device.split(" ").slice(1).join(" ")}</span></span>` : nothing}
    ${model.jax ? html`<span class="dim">JAX ${model.jax}</span>` : nothing}
  </div>`;
}

export function stageMark(stage: string, done: boolean, active: boolean): TemplateResult {
  if (active) return html`<li><span class="spin" aria-hidden="true"></span>${stage}<span class="sr"> running</span></li>`;
  if (done) return html`<li>${icon("check", "ok")}${stage}<span class="sr"> done</span></li>`;
  return html`<li class="wait"><span class="spin off" aria-hidden="true"></span>${stage}<span class="sr"> not done</span></li>`;
}

const notHere = (stage: string): TemplateResult => html`<li class="wait"><span aria-hidden="true">– </span>${stage}<span class="sr"> not possible here</span></li>`;

const NAMES: Readonly<Record<Tab, string>> = { overview: "Overview", constants: "Constants", stablehlo: "StableHLO", timings: "Timings" };

export function tabs({ state, send }: Context, model: PanelModel): TemplateResult {
  const move = (event: KeyboardEvent) => {
    const at = TABS.indexOf(state.tab);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: TABS.length - 1 }[event.key];
    const tab = to === undefined ? undefined : TABS[(to + TABS.length) % TABS.length];
    if (!tab) return;
    event.preventDefault();
    send({ type: "tab", tab });
    const bar = event.currentTarget as HTMLElement;
    bar.querySelector<HTMLElement>(`#t-${tab}`)?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${`Views of ${model.function}`} @keydown=${move}>${TABS.map((tab) => {
    const selected = tab === state.tab;
    return html`<button role="tab" id=${`t-${tab}`} aria-controls=${`v-${tab}`} aria-selected=${selected ? "true" : "false"}
      tabindex=${selected ? 0 : -1} @click=${() => send({ type: "tab", tab })}>${NAMES[tab]}${
        tab === "constants" && model.constants.length > 0 ? html` <span class="count">${model.constants.length}</span>` : nothing
      }</button>`;
  })}</div>`;
}
