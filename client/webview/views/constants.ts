// The Constants tab: which arrays the program holds, where they come from, and what became of them.
import { html, nothing, type TemplateResult } from "lit-html";
import type { ConstantRow, PanelModel, ProgramText } from "../../src/protocol.generated.ts";
import { css } from "../dom/css.ts";
import { bytes, counted, listed } from "../numbers.ts";
import type { SortColumn, State } from "../state.ts";
import type { Context } from "./context.ts";
import { link, prose } from "./parts.ts";

const READS_SHOWN = 3;

export function constants(context: Context, model: PanelModel): TemplateResult {
  const program = context.state.programs.captured;
  if (model.constants.length === 0) {
    return html`<p class="lead"><code>${model.function}</code> captures no arrays.</p>${program ? classes(program) : nothing}`;
  }
  return html`${lead(model, program)} ${table(context, model)} ${naming(model)} ${program ? classes(program) : nothing}`;
}

const total = (model: PanelModel): number => model.constants.reduce((sum, constant) => sum + constant.bytes, 0);

function lead(model: PanelModel, program: ProgramText | undefined): TemplateResult {
  const size = typeof program?.moduleBytes === "number" ? ` of a ${bytes(program.moduleBytes)} module` : "";
  return html`<p class="lead"><b>${counted(model.constants.length, "captured array")}, ${bytes(total(model))}</b>${size}.
    ${prose(model.representation)}</p>`;
}

const COLUMNS: readonly { readonly column: SortColumn | null; readonly title: string; readonly style: string }[] = [
  { column: "name", title: "Name", style: "" },
  { column: "bound", title: "Bound", style: "" },
  { column: "type", title: "Type", style: "" },
  { column: "bytes", title: "Bytes", style: "n" },
  { column: "variable", title: "In the jaxpr", style: "w" },
  { column: null, title: "Lowered to", style: "w" },
  { column: "read", title: "Read", style: "" },
];

function table(context: Context, model: PanelModel): TemplateResult {
  const largest = Math.max(...model.constants.map((constant) => constant.bytes));
  return html`<table class="grid consts">
    <thead><tr>${COLUMNS.map((column) => heading(context, column))}</tr></thead>
    <tbody>${inOrder(model.constants, context.state.sort).map((constant) => row(context, model, constant, largest))}</tbody>
    <tfoot><tr><th scope="row" colspan="3">total, ${counted(model.constants.length, "array")}</th>
      <td class="n">${bytes(total(model), 2)}</td><td class="w"></td><td class="w"></td><td></td></tr></tfoot>
  </table>`;
}

function heading({ state, send }: Context, { column, title, style }: (typeof COLUMNS)[number]): TemplateResult {
  if (column === null) return html`<th scope="col" class=${style}>${title}</th>`;
  const active = state.sort.column === column;
  const order = active ? (state.sort.descending ? "descending" : "ascending") : nothing;
  const sign = active ? (state.sort.descending ? " ▾" : " ▴") : "";
  return html`<th scope="col" class=${style} aria-sort=${order}
    ><button class="sort" @click=${() => send({ type: "sort", column })}>${title}<span aria-hidden="true">${sign}</span></button></th>`;
}

/** The rows in the chosen order; equal ones stay in the server's. */
export function inOrder(rows: readonly ConstantRow[], sort: State["sort"]): ConstantRow[] {
  const keys: Readonly<Record<SortColumn, (row: ConstantRow) => string | number>> = {
    name: (row) => row.name,
    bound: (row) => row.bound?.line ?? Infinity,
    type: (row) => row.type,
    bytes: (row) => row.bytes,
    variable: (row) => row.variable,
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
  const details = `${constant.variable} ${constant.representation}, ${constant.lowered}`;
  return html`<tr title=${details}>
    <td class="name" title=${constant.name}><code>${constant.name}</code></td>
    <td>${constant.bound ? link(context, constant.bound) : nothing}</td>
    <td><code>${constant.type}</code></td>
    <td class="n bar"><i class=${constant.bytes >= model.threshold ? "hotfill" : "s4"} ${css({ "--share": String(constant.bytes / largest) })}></i
      ><span>${bytes(constant.bytes, 2)}</span></td>
    <td class="w"><code>${constant.variable}</code> ${constant.representation}</td>
    <td class="w">${loweredTo(context, constant)}</td>
    <td>${reads.slice(0, READS_SHOWN).map((place) => html`${link(context, place)} `)}${
      more.length > 0 ? html`<span class="dim" title=${`also ${listed(more.map(({ line }) => line))}`}>+${more.length}</span>` : nothing
    }</td>
  </tr>`;
}

/** The operation that holds the array, once the program was read; before, only what kind it is. */
function loweredTo({ state, send }: Context, constant: ConstantRow): TemplateResult {
  const index = state.programs.captured?.rows.findIndex(({ captured }) => captured === constant.name) ?? -1;
  const name = /%[\w#]+/.exec(state.programs.captured?.rows[index]?.text ?? "")?.[0];
  if (!name) return html`<code>${constant.lowered}</code>`;
  const open = (event: Event) => {
    event.preventDefault();
    send({ type: "tab", tab: "stablehlo" });
    send({ type: "form", form: "captured" });
    send({ type: "moveTo", row: index });
  };
  return html`<a href="#" @click=${open}><code>${name}</code></a>`;
}

function naming(model: PanelModel): TemplateResult | typeof nothing {
  const named = model.constants.filter(({ name }) => !/^(made at |no name found)/.test(name)).length;
  if (named === model.constants.length) return nothing;
  return html`<p class="note">Matched to names by identity; ${named} of ${model.constants.length} named.</p>`;
}

const CLASSES = [
  ["captured", "captured", "hotfill", "your arrays"],
  ["scalar", "scalar literal", "s3", "numbers in the code, and those that JAX's own functions bring"],
  ["lowering", "born in lowering", "s4", "start values of reductions, bounds, masks"],
  ["small", "small", "", "arrays of 32 B or less"],
] as const;

/** What every constant operation of the module is. */
function classes(program: ProgramText): TemplateResult {
  const rows = program.rows.filter(({ literal }) => literal);
  const counts = CLASSES.map(([literal, name, fill, words]) => ({ name, fill, words, count: rows.filter((one) => one.literal === literal).length }));
  const label = counts.map(({ name, count }) => `${count} ${name}`).join(", ");
  return html`<h2>Every <code>stablehlo.constant</code> <span class="aside">${rows.length} in the module</span></h2>
    <div class="stack" role="img" aria-label=${label}>${counts.map(({ fill, count }) =>
      count > 0 ? html`<i class=${fill} ${css({ flex: `${count} 0 1px` })}></i>` : nothing,
    )}</div>
    <table class="kv four"><tbody>${counts.map(
      ({ name, fill, count, words }) =>
        html`<tr><th scope="row"><i class="sw ${fill}"></i>${name}</th><td>${count}</td><td class="why">${words}</td></tr>`,
    )}</tbody></table>`;
}
