// What is said of a function that only a recorded run knows, where programs and timings would stand.
import { html, nothing, type TemplateResult } from "lit-html";
import type { OnlyRecorded } from "../../src/protocol.generated.ts";
import type { Context } from "./context.ts";
import { icon } from "./icons.ts";
import { button, doing, prose } from "./parts.ts";

export function onlyRecorded(context: Context, { reason, detail, action }: OnlyRecorded): TemplateResult {
  return html`<section class="work" role="note" aria-label="Known from a recorded run">
    <p>${icon("information")} <b>${prose(reason)}</b></p>
    <p class="note">${prose(detail)}</p>
    ${action ? html`<p class="acts">${remedy(context, action)}</p>` : nothing}
  </section>`;
}

function remedy(context: Context, action: Exclude<OnlyRecorded["action"], "">): TemplateResult {
  switch (action) {
    case "trace":
      return button("Trace now", () => context.post({ type: "refresh" }));
    case "trust":
      return doing(context, "Manage workspace trust", "manageTrust");
    case "consent":
      return doing(context, "Change when code is run…", "changePolicy");
    case "interpreter":
      return doing(context, "Choose interpreter", "selectInterpreter");
  }
}
