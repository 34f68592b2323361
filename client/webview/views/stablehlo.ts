// The StableHLO tab. Of its rows only those in sight exist.
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { OperationRow, PanelModel, ProgramText, SourceLine } from "../../src/protocol.generated.ts";
import {
  comesFrom, functionEnd, hits, huesOf, keyOf, nextHit, opensFunction, operationCounts, ROW_HEIGHT, shownRows,
} from "../code/rows.ts";
import { forSameArguments } from "../code/memo.ts";
import { tensorBytes, tokens, type Token } from "../code/tokens.ts";
import { css } from "../dom/css.ts";
import type { Form } from "../messages.ts";
import { bytes, counted, shortPlace, spokenPlace } from "../numbers.ts";
import { litPlace, restingPlace, type State } from "../state.ts";
import type { Context } from "./context.ts";
import { icon } from "./icons.ts";
import { rowKeys } from "./rowKeys.ts";
import { ended, running } from "./running.ts";

const ROWS_AROUND = 8;

export function stablehlo(context: Context, model: PanelModel): TemplateResult {
  const { state } = context;
  const program = state.programs[state.form];
  if (!program) {
    const again = () => context.post({ type: "program", form: state.form });
    return html`<div class="inner">${forms(context, model)} ${running(context)} ${ended(context, "program", again)}</div>`;
  }
  const shown = rowsShown(state, program);
  return html`${toolbar(context, model, program, shown)} ${listbox(context, model, program, shown)}`;
}

const filtered = forSameArguments((program: ProgramText, operation: string, folded: readonly number[], place: SourceLine | null) =>
  shownRows(program, { operation, folded, place }),
);
const found = forSameArguments(hits);

/** The rows that pass the filters of the state. */
export function rowsShown(state: State, program: ProgramText): readonly number[] {
  const { operation, lineOnly, folded } = state.code;
  return filtered(program, operation, folded, lineOnly ? restingPlace(state) : null);
}

function forms({ state, send }: Context, model: PanelModel): TemplateResult | typeof nothing {
  if (model.constants.length === 0) return nothing;
  const choices: readonly Form[] = ["captured", "hoisted"];
  return html`<span class="seg" role="radiogroup" aria-label="Captured or hoisted">${choices.map(
    (form) => html`<button role="radio" aria-checked=${state.form === form ? "true" : "false"} @click=${() => send({ type: "form", form })}>${form}</button>`,
  )}</span>`;
}

function toolbar(context: Context, model: PanelModel, program: ProgramText, shown: readonly number[]): TemplateResult {
  const { state, send, post } = context;
  const share = program.operations > 0 ? Math.round((100 * program.located) / program.operations) : 0;
  const open = () => post({ type: "document", name: `${model.function}.mlir`, text: program.rows.map(({ text }) => text).join("\n") });
  return html`<div class="bar">
    ${forms(context, model)} ${search(context, found(program, shown, state.code.query))}
    <label><span class="sr">Filter by operation</span><select .value=${state.code.operation}
      @change=${(event: Event) => send({ type: "code", code: { operation: (event.target as HTMLSelectElement).value } })}>
      <option value="">all operations</option>
      ${operationCounts(program).map(([name, count]) => html`<option value=${name} ?selected=${name === state.code.operation}>${name} (${count})</option>`)}
    </select></label>
    <button class="btn toggle" aria-pressed=${state.code.lineOnly ? "true" : "false"} title="Only the rows of the lit line (L)"
      @click=${() => send({ type: "code", code: { lineOnly: !state.code.lineOnly } })}>This line only</button>
    <span class="grow"></span>
    <span class="dim" title=${`Lowered for ${program.platform}. Operations that carry a source line are counted.`}>${program.located} of
      ${program.operations} ops have a line (${share} %) · ${program.platform}</span>
    <button class="icon" title="Open as a document (O)" aria-label="Open as a document" @click=${open}>${icon("document")}</button>
  </div>`;
}

function search({ state, send }: Context, rows: readonly number[]): TemplateResult {
  const { query } = state.code;
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      const row = nextHit(rows, state.code.cursor, event.shiftKey);
      if (row !== undefined) send({ type: "moveTo", row });
    } else if (event.key === "Escape") {
      event.stopPropagation();
      (event.currentTarget as HTMLElement).closest("[role=tabpanel]")?.querySelector<HTMLElement>("[role=listbox]")?.focus();
    }
  };
  return html`<label class="search">${icon("search")}<input id="search" type="search" placeholder="Search" aria-label="Search the program"
    .value=${query} @input=${(event: Event) => send({ type: "code", code: { query: (event.target as HTMLInputElement).value } })}
    @keydown=${keys}><span class="hits" role="status">${query ? (rows.length > 0 ? counted(rows.length, "row") : "no match") : ""}</span></label>`;
}

function listbox(context: Context, model: PanelModel, program: ProgramText, shown: readonly number[]): TemplateResult {
  const { state, send } = context;
  const { scrollTop, rowsHeight } = state.size;
  const first = Math.max(0, Math.min(Math.floor(scrollTop / ROW_HEIGHT), shown.length) - ROWS_AROUND);
  const last = Math.min(shown.length, first + Math.ceil(rowsHeight / ROW_HEIGHT) + 2 * ROWS_AROUND);
  const hues = huesOf(program);
  const inSight = shown.slice(first, last).map((row, index) => ({ row, position: first + index }));
  const active = inSight.some(({ row }) => row === state.code.cursor) ? `row-${state.code.cursor}` : nothing;
  return html`<div class="rows" role="listbox" tabindex="0" aria-label=${`StableHLO of ${model.function}`} aria-activedescendant=${active}
    @keydown=${rowKeys(context, program, shown)} @mouseleave=${() => send({ type: "pass", place: null })}
    @scroll=${(event: Event) => send({ type: "size", size: { scrollTop: (event.target as HTMLElement).scrollTop } })}>
    <div class="spacer" ${css({ height: `${shown.length * ROW_HEIGHT}px` })}></div>
    ${repeat(inSight, ({ row }) => row, ({ row, position }) => rowView(context, program, { row, position, count: shown.length }, hues))}
  </div>`;
}

interface Placed {
  readonly row: number;
  readonly position: number;
  readonly count: number;
}

function rowView(context: Context, program: ProgramText, { row, position, count }: Placed, hues: ReadonlyMap<string, number>): TemplateResult {
  const { state, send } = context;
  const operation = program.rows[row];
  if (!operation) return html``;
  const lit = litPlace(state);
  const isLit = lit !== null && comesFrom(operation, lit);
  const here = state.model?.path ?? "";
  const [line] = operation.lines;
  const spoken = line ? `, ${spokenPlace(line, here)} of ${state.model?.function ?? ""}${isLit ? ", lit" : ""}` : "";
  const keep = () => send({ type: "keep", places: operation.lines, row });
  const cursor = row === state.code.cursor;
  return html`<div id=${`row-${row}`} class="r ${isLit ? "lit" : ""} ${cursor ? "cur" : ""}" role="option"
    aria-selected=${cursor ? "true" : "false"} aria-setsize=${count} aria-posinset=${position + 1} aria-label=${operation.text.trim() + spoken}
    ${css({ top: `${position * ROW_HEIGHT}px` })} @click=${keep} @mouseenter=${() => send({ type: "pass", place: line ?? null })}>
    <span class="no">${row + 1}</span>${chip(context, operation.lines, hues)}${fold(context, program, row)}
    <span class="text">${tokens(operation.text, state.code.query).map((token) => tokenView(token, operation))}${
      state.code.folded.includes(row) ? html`<span class="dim"> … ${counted(functionEnd(program, row) - row - 1, "row")}</span>` : nothing
    }</span>
  </div>`;
}

/** The source line of a row, with its caller: `:21‹29`. */
function chip({ state, post, send }: Context, lines: readonly SourceLine[], hues: ReadonlyMap<string, number>): TemplateResult {
  const [line, ...callers] = lines;
  if (!line) return html`<span class="chips"></span>`;
  const here = state.model?.path ?? "";
  const caller = callers[callers.length - 1];
  const words = spokenPlace(line, here) + (caller ? `, called from ${spokenPlace(caller, here)}` : "");
  const go = (event: Event) => {
    event.stopPropagation();
    send({ type: "keep", places: lines });
    post({ type: "goto", place: line });
  };
  return html`<span class="chips"><button class="lc h${hues.get(keyOf(line)) ?? 0}" tabindex="-1" title=${words} aria-label=${`Go to ${words}`} @click=${go}
    >${shortPlace(line, here)}${caller ? `‹${caller.line}` : ""}</button></span>`;
}

function fold({ state, send }: Context, program: ProgramText, row: number): TemplateResult {
  const operation = program.rows[row];
  if (!operation || !opensFunction(operation)) return html`<span class="fold"></span>`;
  const folded = state.code.folded.includes(row);
  const toggle = (event: Event) => {
    event.stopPropagation();
    send({ type: "fold", row, folded: !folded });
  };
  return html`<span class="fold"><button tabindex="-1" aria-label=${folded ? "Unfold function" : "Fold function"} @click=${toggle}>${folded ? "▸" : "▾"}</button></span>`;
}

const STYLES: Readonly<Record<Token["kind"], string>> = {
  plain: "", name: "tk-v", operation: "tk-o", type: "tk-t", number: "tk-n", elided: "elided",
};

function tokenView({ kind, text, hit }: Token, operation: OperationRow): TemplateResult {
  if (kind === "elided") {
    const size = tensorBytes(operation.text);
    const label = size === undefined ? "dense" : `dense ${bytes(size, 2)}`;
    return html`<span class="elided ${operation.captured ? "own" : ""}" title="Values are never read out of the worker">${label}${
      operation.captured ? html` <span class="dim">${operation.captured}</span>` : nothing
    }</span>`;
  }
  return hit ? html`<mark class=${STYLES[kind]}>${text}</mark>` : html`<span class=${STYLES[kind]}>${text}</span>`;
}
