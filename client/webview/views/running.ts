// Work under way, and how it ended when it did not end well.
import { html, nothing, type TemplateResult } from "lit-html";
import type { Work } from "../messages.ts";
import { seconds } from "../numbers.ts";
import { activeStage, participle, STAGES, workSince, type StageName } from "../stages.ts";
import type { Ended, State } from "../state.ts";
import type { Context } from "./context.ts";
import { icon } from "./icons.ts";
import { button, doing, prose } from "./parts.ts";
import { shownSignature } from "./signatures.ts";

/** Progress with Cancel; nothing for work that is young or over. */
export function running(context: Context): TemplateResult | typeof nothing {
  const { state, post } = context;
  const since = workSince(state);
  const active = activeStage(state);
  if (since === undefined) return nothing;
  const name = state.model?.function ?? "";
  return html`<section class="work" aria-label="Work under way">
    <h2>${participle(active)} <code>${name}</code> <span class="aside">${seconds((state.now - since) / 1000)}</span></h2>
    ${progressBar(state, participle(active))}
    ${active ? html`<table class="kv prog"><tbody>${stageRows(state, active, since)}</tbody></table>` : nothing}
    ${state.progress?.detail ? html`<p class="note">${prose(state.progress.detail)}</p>` : nothing}
    <p class="acts">${button(html`Cancel <kbd>Esc</kbd>`, () => post({ type: "cancel" }))}</p>
  </section>`;
}

export function progressBar(state: State, label: string): TemplateResult {
  const done = state.progress?.done ?? null;
  return html`<div class="progress" role="progressbar" aria-label=${label} aria-valuemin=${done === null ? nothing : 0}
    aria-valuemax=${done === null ? nothing : 100} aria-valuenow=${done === null ? nothing : Math.round(done * 100)}></div>`;
}

function stageRows(state: State, active: StageName, since: number): TemplateResult[] {
  const stages = state.work.time === undefined ? STAGES.slice(0, 2) : STAGES;
  const known: Readonly<Partial<Record<StageName, number | null | undefined>>> = {
    trace: state.model?.jaxpr?.seconds,
    lower: state.programs[state.form]?.seconds,
  };
  const at = stages.indexOf(active);
  return stages.map((stage, index) => {
    const time = known[stage];
    if (index === at) return row(html`<span class="spin" aria-hidden="true"></span>`, stage, seconds((state.now - since) / 1000));
    if (index > at) return row(html`<span class="spin off" aria-hidden="true"></span>`, stage, "waiting");
    return row(icon("check", "ok"), stage, typeof time === "number" ? seconds(time) : "done");
  });
}

const row = (mark: TemplateResult, stage: StageName, text: string): TemplateResult =>
  html`<tr class=${text === "waiting" ? "dim" : ""}><th scope="row">${mark}${stage}</th><td>${text}</td></tr>`;

export const WAS_GUESS = "The shapes were a guess, so this may not be your bug.";

/** What became of work that failed or was cancelled, with a way to try again. */
export function ended(context: Context, work: Work, again: () => void): TemplateResult | typeof nothing {
  const end = context.state.ended[work];
  if (!end) return nothing;
  const guess = !end.cancelled && context.state.model && shownSignature(context.state.model)?.source === "guess";
  return html`<section class="work" role="status">
    <p>${end.cancelled ? icon("information") : icon("error", "err")} ${words(end)}</p>
    ${guess ? html`<p class="note">${WAS_GUESS}</p>` : nothing}
    <p class="acts">${button("Try again", again)} ${end.cancelled ? nothing : doing(context, "Open log", "showLog")}</p>
  </section>`;
}

const words = (end: Ended): unknown => (end.cancelled ? `Cancelled after ${seconds(end.seconds)}. What was there is kept.` : prose(end.message));
