// The Constants tab: which arrays the program holds, where they come from, and what became of them.
import { html, nothing, type TemplateResult } from "lit-html";
import type { ConstantRow, LoweredConstant, PanelModel } from "../../src/protocol.generated.ts";
import { css } from "../dom/css.ts";
import { bytes, counted, listed } from "../numbers.ts";
import type { SortColumn, State } from "../state.ts";
import type { Context } from "./context.ts";
import { argumentOrder, classes, losses, notes } from "./lowered.ts";
import { link, prose } from "./parts.ts";
import { ended, running } from "./running.ts";

const READS_SHOWN = 3;

export function constants(context: Context, model: PanelModel): TemplateResult {
  const { lowered } = context.state;
  const some = model.constants.length > 0;
  return html`${some ? lead(context.state, model) : html`<p class="lead"><code>${model.function}</code> captures no arrays.</p>`}
    ${lowered ? losses(lowered) : nothing} ${some ? html`${table(context, model)} ${naming(model)}` : nothing}
    ${lowered ? html`${classes(lowered)} ${argumentOrder(lowered, some)} ${notes(lowered)}` : nothing}
    ${lowered ? nothing : running(context)} ${ended(context, "constants", () => context.post({ type: "constants" }))}`;
}

const total = (model: PanelModel): number => model.constants.reduce((sum, constant) => sum + constant.bytes, 0);

function lead({ lowered }: State, model: PanelModel): TemplateResult {
  const size = lowered ? ` of a ${bytes(lowered.moduleBytes)} module` : "";
  return html`<p class="lead"><b>${counted(model.constants.length, "captured array")}, ${bytes(total(model))}</b>${size}.
    ${prose(lowered?.lead ?? model.representation)}</p>`;
}

const COLUMNS: readonly { readonly column: SortColumn; readonly title: string; readonly style: string }[] = [
  { column: "name", title: "Name", style: "" },
  { column: "bound", title: "Bound", style: "" },
  { column: "type", title: "Type", style: "" },
  { column: "bytes", title: "Bytes", style: "n" },
  { column: "variable", title: "In the jaxpr", style: "w" },
  { column: "lowered", title: "Lowered to", style: "w" },
  { column: "read", title: "Read", style: "" },
];

function table(context: Context, model: PanelModel): TemplateResult {
  const largest = Math.max(...model.constants.map((constant) => constant.bytes));
  return html`<table class="grid consts">
    <thead><tr>${COLUMNS.map((column) => heading(context, column))}</tr></thead>
    <tbody>${inOrder(model.constants, context.state).map((constant) => row(context, model, constant, largest))}</tbody>
    <tfoot><tr><th scope="row" colspan="3">total, ${counted(model.constants.length, "array")}</th>
      <td class="n">${bytes(total(model), 2)}</td><td class="w"></td><td class="w"></td><td></td></tr></tfoot>
  </table>`;
}

function heading({ state, send }: Context, { column, title, style }: (typeof COLUMNS)[number]): TemplateResult {
  const active = state.sort.column === column;
  const order = active ? (state.sort.descending ? "descending" : "ascending") : nothing;
  const sign = active ? (state.sort.descending ? " ▾" : " ▴") : "";
  return html`<th scope="col" class=${style} aria-sort=${order}
    ><button class="sort" @click=${() => send({ type: "sort", column })}>${title}<span aria-hidden="true">${sign}</span></button></th>`;
}

/** The rows in the chosen order; equal ones stay in the server's. */
export function inOrder(rows: readonly ConstantRow[], { sort, lowered }: Pick<State, "sort" | "lowered">): ConstantRow[] {
  const keys: Readonly<Record<SortColumn, (row: ConstantRow) => string | number>> = {
    name: (row) => row.name,
    bound: (row) => row.bound?.line ?? Infinity,
    type: (row) => row.type,
    bytes: (row) => row.bytes,
    variable: (row) => row.variable || row.representation,
    lowered: (row) => heldBy(lowered, row)?.row ?? row.lowered,
    read: (row) => row.reads[0]?.line ?? Infinity,
  };
  const key = keys[sort.column];
  const compare = (a: ConstantRow, b: ConstantRow): number => {
    const [one, other] = [key(a), key(b)];
    return typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
  };
  return [...rows].sort((a, b) => (sort.descending ? compare(b, a) : compare(a, b)));
}

function row(context: Context, model: PanelModel, constant: ConstantRow, largest: number): TemplateResult {
  const { reads } = constant;
  const more = reads.slice(READS_SHOWN);
  const held = heldBy(context.state.lowered, constant);
  const form = constant.variable || held?.form || "";
  const details = `${form} ${constant.representation}, ${held?.lowered ?? constant.lowered} ${held?.name ?? ""}`.trim();
  return html`<tr title=${details}>
    <td class="name" title=${constant.name}><code>${constant.name}</code></td>
    <td>${constant.bound ? link(context, constant.bound) : nothing}</td>
    <td><code>${constant.type}</code></td>
    <td class="n bar"><i class=${constant.bytes >= model.threshold ? "hotfill" : "s4"} ${css({ "--share": String(constant.bytes / largest) })}></i
      ><span>${bytes(constant.bytes, 2)}</span></td>
    <td class="w"><code>${form}</code> ${constant.representation}</td>
    <td class="w">${loweredTo(context, constant, held)}</td>
    <td>${reads.slice(0, READS_SHOWN).map((place) => html`${link(context, place)} `)}${
      more.length > 0 ? html`<span class="dim" title=${`also ${listed(more.map(({ line }) => line))}`}>+${more.length}</span>` : nothing
    }</td>
  </tr>`;
}

const heldBy = (lowered: State["lowered"], { index }: ConstantRow): LoweredConstant | undefined =>
  lowered?.constants.find((one) => one.index === index);

/** The operation or argument that holds the array, once the function was lowered; before, only what kind it is. */
function loweredTo({ send }: Context, constant: ConstantRow, held: LoweredConstant | undefined): TemplateResult {
  if (!held) return html`<code>${constant.lowered}</code>`;
  if (held.row < 0) return html`<span class="dim">not in the module</span>`;
  const open = (event: Event) => {
    event.preventDefault();
    send({ type: "form", form: "captured" });
    send({ type: "moveTo", row: held.row });
    send({ type: "tab", tab: "stablehlo" });
  };
  const words = `${held.lowered} in @${held.function}`;
  return html`<a href="#" title=${words} aria-label=${`${held.name}, ${words}`} @click=${open}><code>${held.name}</code></a>${
    held.function === "main" ? nothing : html` <span class="dim">@${held.function}</span>`
  }${held.copies > 1 ? html` <span class="dim">${held.copies} ×</span>` : nothing}`;
}

function naming(model: PanelModel): TemplateResult | typeof nothing {
  const named = model.constants.filter(({ name }) => !/^(made at |no name found)/.test(name)).length;
  if (named === model.constants.length) return nothing;
  return html`<p class="note">Matched to names by identity; ${named} of ${model.constants.length} named.</p>`;
}
