// The whole page.
import { html, nothing, type TemplateResult } from "lit-html";
import type { PanelModel } from "../../src/protocol.generated.ts";
import { listed } from "../numbers.ts";
import type { Tab } from "../messages.ts";
import { constants } from "./constants.ts";
import type { Context } from "./context.ts";
import { header, tabs } from "./header.ts";
import { icon } from "./icons.ts";
import { overview } from "./overview.ts";
import { button } from "./parts.ts";
import { onlyRecorded } from "./recorded.ts";
import { stablehlo } from "./stablehlo.ts";
import { stateView } from "./states.ts";
import { timings } from "./timings.ts";

const VIEWS: Readonly<Record<Tab, (context: Context, model: PanelModel) => TemplateResult>> = { overview, constants, stablehlo, timings };

/** Tabs that show nothing but what a worker that holds the program makes. */
const NEED_PROGRAM: ReadonlySet<Tab> = new Set(["stablehlo", "timings"]);

const said = (context: Context, { onlyRecorded: only }: PanelModel): TemplateResult => (only ? onlyRecorded(context, only) : html``);

export function page(context: Context): TemplateResult | typeof nothing {
  const { state } = context;
  const { model, tab } = state;
  if (!model) return nothing;
  if (model.state !== "ready") return html`<div class="panel">${header(context, model)} ${stateView(context, model)}</div>`;
  const stale = model.staleLines.length > 0;
  const view = model.onlyRecorded && NEED_PROGRAM.has(tab) ? () => said(context, model) : VIEWS[tab];
  return html`<div class="panel ${stale ? "stale" : ""}">
    ${header(context, model)} ${tabs(context, model)} ${stale ? banner(context, model) : nothing}
    <section class="view ${tab === "stablehlo" && !model.onlyRecorded ? "codeview" : ""}" role="tabpanel" id=${`v-${tab}`} aria-labelledby=${`t-${tab}`}
      tabindex=${tab === "stablehlo" ? -1 : 0}>${view(context, model)}</section>
  </div>`;
}

function banner({ post }: Context, { staleLines, tracedAt }: PanelModel): TemplateResult {
  const lines = staleLines.length === 1 ? `Line ${staleLines[0]} has` : `Lines ${listed(staleLines)} have`;
  const many = staleLines.length > 6 ? `${staleLines.length} lines have` : lines;
  return html`<div class="banner" role="status">${icon("warning", "warn")}
    <span>Shown for the text ${tracedAt ? `traced at ${tracedAt.slice(0, 5)}` : "of the last trace"}. ${many} changed since.</span>
    ${button(html`Trace again <kbd>R</kbd>`, () => post({ type: "refresh" }))}</div>`;
}
