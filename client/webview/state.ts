// What the page shows, and how it changes. Pure: no DOM, no messages.
import type { ConstantsLowered, PanelModel, ProgramText, SourceLine, StageProgress, Timings } from "../src/protocol.generated.ts";
import { firstRow, samePlace } from "./code/rows.ts";
import type { Consent, Form, Shown, Tab, ToPanel, Work } from "./messages.ts";

export interface CodeState {
  /** Row that the keyboard is on. */
  readonly cursor: number;
  readonly query: string;
  /** Only rows of this operation; empty for all. */
  readonly operation: string;
  /** Only rows of the lit line. */
  readonly lineOnly: boolean;
  /** Rows whose function is folded. */
  readonly folded: readonly number[];
  /** Grows when the cursor's row is to be brought into sight. */
  readonly reveals: number;
}

export type SortColumn = "name" | "bound" | "type" | "bytes" | "variable" | "lowered" | "read";

export interface Ended {
  readonly message: string;
  readonly cancelled: boolean;
  readonly seconds: number;
}

export interface State {
  readonly model: PanelModel | null;
  readonly tab: Tab;
  readonly pinned: boolean;
  readonly form: Form;
  readonly programs: Readonly<Partial<Record<Form, ProgramText>>>;
  /** What became of the constants, once the function was lowered for the Constants tab. */
  readonly lowered: ConstantsLowered | null;
  readonly timings: Timings | null;
  readonly compare: "both" | Form;
  /** When the work started, in milliseconds; absent when it does not run. */
  readonly work: Readonly<Partial<Record<Work, number>>>;
  readonly ended: Readonly<Partial<Record<Work, Ended>>>;
  readonly progress: StageProgress | null;
  /** Where the editor's cursor is. */
  readonly cursor: SourceLine | null;
  /** Lit until another click. */
  readonly kept: readonly SourceLine[];
  /** Lit while the pointer rests. */
  readonly passing: SourceLine | null;
  readonly code: CodeState;
  readonly sort: { readonly column: SortColumn; readonly descending: boolean };
  /** The signature that was chosen; empty for the one that the server shows first. */
  readonly signature: string;
  /** Entry of the open list of signatures that the keyboard is on; null while it is closed. */
  readonly signatureAt: number | null;
  readonly consent: Consent;
  readonly consentPutOff: boolean;
  readonly now: number;
  readonly size: { readonly width: number; readonly scrollTop: number; readonly rowsHeight: number };
}

export type Change =
  | { readonly type: "message"; readonly message: ToPanel; readonly now: number }
  | { readonly type: "tab"; readonly tab: Tab }
  | { readonly type: "pin" }
  | { readonly type: "form"; readonly form: Form }
  | { readonly type: "compare"; readonly compare: State["compare"] }
  | { readonly type: "code"; readonly code: Partial<CodeState> }
  | { readonly type: "moveTo"; readonly row: number }
  | { readonly type: "fold"; readonly row: number; readonly folded: boolean }
  | { readonly type: "keep"; readonly places: readonly SourceLine[]; readonly row?: number }
  | { readonly type: "pass"; readonly place: SourceLine | null }
  | { readonly type: "sort"; readonly column: SortColumn }
  | { readonly type: "signatures"; readonly at: number | null }
  | { readonly type: "signature"; readonly signature: string }
  | { readonly type: "consent"; readonly consent: Consent }
  | { readonly type: "putOff" }
  | { readonly type: "tick"; readonly now: number }
  | { readonly type: "size"; readonly size: Partial<State["size"]> };

const CODE: CodeState = { cursor: 0, query: "", operation: "", lineOnly: false, folded: [], reveals: 0 };

export const INITIAL: State = {
  model: null,
  tab: "overview",
  pinned: false,
  form: "captured",
  programs: {},
  lowered: null,
  timings: null,
  compare: "both",
  work: {},
  ended: {},
  progress: null,
  cursor: null,
  kept: [],
  passing: null,
  code: CODE,
  sort: { column: "bytes", descending: true },
  signature: "",
  signatureAt: null,
  consent: "onSave",
  consentPutOff: false,
  now: 0,
  size: { width: 900, scrollTop: 0, rowsHeight: 600 },
};

export function reduce(state: State, change: Change): State {
  switch (change.type) {
    case "message":
      return received(state, change.message, change.now);
    case "tab":
      return { ...state, tab: change.tab };
    case "pin":
      return { ...state, pinned: !state.pinned };
    case "form":
      return { ...state, form: change.form, code: { ...CODE, query: state.code.query, reveals: state.code.reveals } };
    case "compare":
      return { ...state, compare: change.compare };
    case "code":
      return { ...state, code: { ...state.code, ...change.code } };
    case "moveTo":
      return { ...state, code: { ...state.code, cursor: change.row, reveals: state.code.reveals + 1 } };
    case "fold":
      return { ...state, code: { ...state.code, folded: toggled(state.code.folded, change.row, change.folded) } };
    case "keep":
      return { ...state, kept: change.places, code: { ...state.code, cursor: change.row ?? state.code.cursor } };
    case "pass":
      return { ...state, passing: change.place };
    case "sort":
      return { ...state, sort: sorted(state.sort, change.column) };
    case "signatures":
      return { ...state, signatureAt: change.at };
    case "signature":
      return { ...state, signature: change.signature };
    case "consent":
      return { ...state, consent: change.consent };
    case "putOff":
      return { ...state, consentPutOff: true };
    case "tick":
      return { ...state, now: change.now };
    case "size":
      return { ...state, size: { ...state.size, ...change.size } };
  }
}

function received(state: State, message: ToPanel, now: number): State {
  switch (message.type) {
    case "model":
      return withModel(state, message.model);
    case "show":
      return { ...state, tab: message.tab };
    case "program":
      return isShown(state, message.of) ? withProgram(state, message.form, message.program) : state;
    case "constants":
      return isShown(state, message.of) ? { ...state, lowered: message.lowered } : state;
    case "timings":
      return isShown(state, message.of) ? { ...state, timings: message.timings } : state;
    case "started":
      return { ...state, now, work: { ...state.work, [message.work]: now }, ended: without(state.ended, message.work), progress: null };
    case "progress":
      return { ...state, progress: message.progress };
    case "ended":
      return withEnd(state, message, now);
    case "cursor":
      return withCursor(state, message.place);
  }
}

const isShown = ({ model }: State, of: Shown): boolean => model?.function === of.function && model.signature === of.signature;

/** The row that was gone to before its program had come is brought into sight now. */
function withProgram(state: State, form: Form, program: ProgramText): State {
  const code = state.code.cursor > 0 && form === state.form ? { ...state.code, reveals: state.code.reveals + 1 } : state.code;
  return { ...state, programs: { ...state.programs, [form]: program }, code };
}

/** Programs belong to one trace of one function under one signature; what was measured holds as long as the server says so. */
function withModel(state: State, told: PanelModel): State {
  const old = state.model;
  const model = old && isEditOf(told, old) ? { ...old, line: told.line, findings: told.findings, staleLines: told.staleLines } : told;
  const sameFunction = old?.function === model.function && old.path === model.path;
  const sameSignature = sameFunction && old.signature === model.signature;
  const signature = (sameFunction || old === null) && !isGone(state.signature, model) ? state.signature : "";
  if (sameSignature && old.tracedAt === model.tracedAt) return { ...state, model, signature, timings: model.timings ?? state.timings };
  const fresh = { model, signature, programs: {}, lowered: null, timings: model.timings, work: {}, ended: {}, progress: null };
  if (sameSignature || old === null) return { ...state, ...fresh };
  const other = { ...state, ...fresh, kept: [], passing: null, code: { ...CODE, reveals: state.code.reveals } };
  return sameFunction ? other : { ...other, form: "captured", signatureAt: null };
}

/** A function that is not traced now keeps the choice until it is. */
const isGone = (signature: string, model: PanelModel): boolean => model.state === "ready" && !model.signatures.some(({ id }) => id === signature);

/** Of a function whose own lines were edited nothing is known until the next trace: what was shown stays, as stale. */
const isEditOf = (told: PanelModel, old: PanelModel): boolean =>
  told.function === old.function &&
  told.path === old.path &&
  told.tracedAt === old.tracedAt &&
  told.staleLines.length > 0 &&
  old.state === "ready" &&
  (told.state === "no-shapes" || told.state === "running");

function withEnd(state: State, message: Extract<ToPanel, { type: "ended" }>, now: number): State {
  const since = state.work[message.work];
  if (since === undefined) return state;
  const work = without(state.work, message.work);
  if (!message.message && !message.cancelled) return { ...state, work, progress: null };
  const end: Ended = { message: message.message, cancelled: message.cancelled, seconds: (now - since) / 1000 };
  return { ...state, work, ended: { ...state.ended, [message.work]: end }, progress: null };
}

/** The rows of the line that the editor's cursor went to are lit, and the first of them is brought into sight. */
function withCursor(state: State, place: SourceLine | null): State {
  if (place !== null && state.cursor !== null && samePlace(place, state.cursor)) return state;
  const program = state.programs[state.form];
  const row = place && program ? firstRow(program, place) : undefined;
  const code = row === undefined ? state.code : { ...state.code, cursor: row, reveals: state.code.reveals + 1 };
  return { ...state, cursor: place, kept: [], code };
}

function toggled(folded: readonly number[], row: number, fold: boolean): readonly number[] {
  const others = folded.filter((other) => other !== row);
  return fold ? [...others, row] : others;
}

function sorted(sort: State["sort"], column: SortColumn): State["sort"] {
  if (sort.column === column) return { column, descending: !sort.descending };
  return { column, descending: column === "bytes" };
}

function without<T>(record: Readonly<Partial<Record<Work, T>>>, key: Work): Partial<Record<Work, T>> {
  const { [key]: _, ...rest } = record;
  return rest as Partial<Record<Work, T>>;
}

/** The place that is lit now: under the pointer, else kept by a click, else the editor's cursor. */
export const litPlace = (state: State): SourceLine | null => state.passing ?? state.kept[0] ?? state.cursor;

/** The place that stays lit when the pointer leaves. */
export const restingPlace = (state: State): SourceLine | null => state.kept[0] ?? state.cursor;
