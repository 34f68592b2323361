// What stands in place of the views when there is nothing to show yet.
import { html, nothing, type TemplateResult } from "lit-html";
import type { PanelModel, PanelState } from "../../src/protocol.generated.ts";
import type { Consent } from "../messages.ts";
import { fullPlace, shortPlace } from "../numbers.ts";
import type { Context } from "./context.ts";
import { icon } from "./icons.ts";
import { findings } from "./overview.ts";
import { button, doing, firstSentence, prose } from "./parts.ts";
import { progressBar, WAS_GUESS } from "./running.ts";

type View = (context: Context, model: PanelModel) => TemplateResult;

const VIEWS: Readonly<Record<Exclude<PanelState, "ready">, View>> = {
  "no-function": noFunction,
  "no-shapes": noShapes,
  restricted,
  consent,
  running: beingTraced,
  failed,
  stopped,
  "no-jax": noJax,
};

export function stateView(context: Context, model: PanelModel): TemplateResult {
  const view = model.state === "ready" ? undefined : VIEWS[model.state];
  return html`<section class="view state" tabindex="-1">${view ? view(context, model) : nothing}</section>`;
}

function said(model: PanelModel, mark: TemplateResult | typeof nothing = nothing): TemplateResult {
  const [heading, rest] = firstSentence(model.message);
  return html`<h2>${mark}${withName(heading, model)}</h2>${rest ? html`<p>${withName(rest, model)}</p>` : nothing}`;
}

/** The function's own name is set as code wherever the sentence has it. */
function withName(text: string, model: PanelModel): unknown {
  if (!model.function || text.includes("`")) return prose(text);
  const name = model.function.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return prose(text.replace(new RegExp(`(?<![\\w.])${name}(?![\\w])`, "g"), (found) => `\`${found}\``));
}

/** What reading the source found, which needs no trace. */
const inferred: View = (context, model) => (model.findings.length > 0 ? html`<div class="below">${findings(context, model)}</div>` : html``);

function noFunction(context: Context, model: PanelModel): TemplateResult {
  const { post } = context;
  if (model.functions.length === 0) return html`<h2>No traced function in this file</h2>
    <p>A function that <code>jax.jit</code>, <code>jax.vmap</code>, <code>jax.lax.scan</code> or their kin are given is a traced one.</p>`;
  return html`<h2>${model.message}</h2>
    <ul class="chooser">${model.functions.map(
      (one) => html`<li><button class="pick" @click=${() => post({ type: "choose", function: one.function })}
        ><code>${one.function}</code> <span class="loc dim">:${one.line}</span> <span class="dim">${one.lens}</span></button></li>`,
    )}</ul>`;
}

function noShapes(context: Context, model: PanelModel): TemplateResult {
  return html`${said(model)}
    <ol class="choices">
      <li><b>Record a run.</b> Your own program runs as it is, and the shapes that it really has are kept.<br>
        ${doing(context, "Record…", "record", true)}</li>
      <li><b>Declare the shapes</b> in a comment above the def.
        <pre># jaxscope: f32[8,128], i32[8]</pre>${doing(context, "Insert comment", "declareShapes")}</li>
      ${third(context, model)}
    </ol>${inferred(context, model)}`;
}

/** Tracing guesses by itself, so a guess is offered only where none was tried. */
function third(context: Context, { offer }: PanelModel): TemplateResult | typeof nothing {
  const now = (text: string) => button(text, () => context.post({ type: "refresh" }));
  switch (offer) {
    case "guess":
      return html`<li><b>Use a guess.</b> The file is imported, and shapes with which the function traces are looked for. What they show is
        marked <span class="guess">guess</span>.<br>${now("Use the guess")}</li>`;
    case "trace":
      return html`<li><b>Trace the file now.</b> Functions that are called while it is imported are seen.<br>${now("Trace now")}</li>`;
    case "policy":
      return html`<li><b>Let jaxscope trace.</b> ${doing(context, "Change when code is run…", "changePolicy")}</li>`;
    case "":
      return nothing;
  }
}

function restricted(context: Context, model: PanelModel): TemplateResult {
  return html`${said(model, icon("lock"))}
    <p class="acts">${doing(context, "Manage workspace trust", "manageTrust", true)} ${whatRuns(context)}</p>${inferred(context, model)}`;
}

const whatRuns = ({ post }: Context): TemplateResult => {
  const ask = (event: Event) => {
    event.preventDefault();
    post({ type: "do", action: "whatRuns" });
  };
  return html`<a href="#" @click=${ask}>What gets run?</a>`;
};

const ANSWERS: readonly (readonly [Consent, string])[] = [
  ["onSave", "When I save"],
  ["manual", "Only when I ask"],
  ["off", "Never here"],
];

function consent(context: Context, model: PanelModel): TemplateResult {
  const { state, send, post } = context;
  if (state.consentPutOff) {
    return html`<h2>Nothing is run</h2><p>Findings from reading the source still work.</p>
      <p class="acts">${button("Decide…", () => send({ type: "putOff" }))}</p>${inferred(context, model)}`;
  }
  const file = fullPlace(model).replace(/:\d+$/, "");
  return html`<h2>${model.message}</h2>
    <p>To see what JAX makes of ${model.function ? html`<code>${model.function}</code>` : "your functions"}, <code>${file}</code> is
      imported in a separate process${model.interpreter ? html` with <code>${model.interpreter}</code>` : nothing}${model.jax ? ` (JAX ${model.jax})` : ""}.</p>
    <fieldset class="radios"><legend class="sr">When to trace</legend>${ANSWERS.map(
      ([answer, words]) => html`<label><input type="radio" name="consent" .checked=${state.consent === answer}
        @change=${() => send({ type: "consent", consent: answer })}> ${words}</label>`,
    )}</fieldset>
    <p class="note">While tracing, writing outside temp and cache folders, starting processes and opening connections are blocked.
      This stops accidents, not malice.</p>
    <p class="acts">${button(state.consent === "off" ? "Save" : "Allow", () => post({ type: "consent", answer: state.consent }), true)}
      ${button("Not now", () => send({ type: "putOff" }))} ${whatRuns(context)}</p>${inferred(context, model)}`;
}

function beingTraced(context: Context, model: PanelModel): TemplateResult {
  return html`${said(model)} ${progressBar(context.state, model.message)}
    <p class="acts">${button(html`Cancel <kbd>Esc</kbd>`, () => context.post({ type: "cancel" }))}</p>${inferred(context, model)}`;
}

function failed(context: Context, model: PanelModel): TemplateResult {
  const { failed: trace } = model;
  if (!trace) return said(model, icon("error", "err"));
  const place = { path: trace.path, line: trace.line };
  const [kind, ...rest] = trace.message.split(": ");
  return html`${said(model, icon("error", "err"))}
    ${trace.source.length > 0 ? html`<pre class="frame" aria-label="Source around the failing line">${trace.source.map(
      ([line, text]) => html`<span class=${line === trace.line ? "hit" : "row"}><span class="ln">${line}</span>${text}\n</span>`,
    )}</pre>` : nothing}
    <p class="errtext">${rest.length > 0 ? html`<b>${kind}:</b> ${rest.join(": ")}` : trace.message}</p>
    ${trace.tried ? html`<p class="note">Tried with <code>${trace.tried}</code>.</p>` : nothing}
    ${trace.guess ? html`<p class="note">${WAS_GUESS}</p>` : nothing}
    <p class="acts">
      ${trace.line ? button(`Go to ${placeWords(place.line, shortPlace(place, model.path))}`, () => context.post({ type: "goto", place }), true) : nothing}
      ${trace.traceback ? doing(context, "Full traceback", "showTraceback") : nothing}
      ${trace.tried ? doing(context, "Declare shapes…", "declareShapes") : nothing}
    </p>${inferred(context, model)}`;
}

const placeWords = (line: number, short: string): string => (short.startsWith(":") ? `line ${line}` : short);

function stopped(context: Context, model: PanelModel): TemplateResult {
  return html`${said(model, icon("error", "err"))}
    ${model.stoppedLog ? html`<pre class="frame" aria-label="Last lines of the worker's log">${model.stoppedLog.trimEnd()}</pre>` : nothing}
    <p class="acts">${button("Try again", () => context.post({ type: "refresh" }), true)}
      ${doing(context, "Start a new worker", "restart")} ${doing(context, "Open log", "showLog")}</p>${inferred(context, model)}`;
}

function noJax(context: Context, model: PanelModel): TemplateResult {
  return html`${said(model, icon("warning", "warn"))}
    <p class="acts">${doing(context, "Choose interpreter", "selectInterpreter", true)} ${doing(context, "Open log", "showLog")}</p>${inferred(context, model)}`;
}
