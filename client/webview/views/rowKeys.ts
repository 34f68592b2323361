// The keyboard in a program's rows.
import type { ProgramText } from "../../src/protocol.generated.ts";
import { opensFunction, ROW_HEIGHT } from "../code/rows.ts";
import type { Context } from "./context.ts";

/** Keys that go somewhere: how many rows down, given the rows of a page. */
const STEPS: Readonly<Record<string, (page: number) => number>> = {
  ArrowDown: () => 1,
  ArrowUp: () => -1,
  PageDown: (page) => page,
  PageUp: (page) => -page,
  Home: () => -Infinity,
  End: () => Infinity,
};

export function rowKeys(context: Context, program: ProgramText, shown: readonly number[]): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
    const handled = move(context, shown, event.key) || onRow(context, program, event);
    if (handled) event.preventDefault();
  };
}

function move({ state, send }: Context, shown: readonly number[], key: string): boolean {
  const step = STEPS[key]?.(Math.max(1, Math.floor(state.size.rowsHeight / ROW_HEIGHT) - 1));
  if (step === undefined) return false;
  const at = Math.max(0, shown.indexOf(state.code.cursor));
  const row = shown[Math.max(0, Math.min(shown.length - 1, at + step))];
  if (row !== undefined) send({ type: "moveTo", row });
  return true;
}

function onRow({ state, send, post }: Context, program: ProgramText, event: KeyboardEvent): boolean {
  const { cursor, lineOnly } = state.code;
  const row = program.rows[cursor];
  if (!row) return false;
  const foldable = opensFunction(row);
  switch (event.key) {
    case "Enter":
      send({ type: "keep", places: row.lines });
      if (row.lines[0]) post({ type: "goto", place: row.lines[0] });
      return true;
    case " ":
      send({ type: "keep", places: row.lines });
      return true;
    case "ArrowLeft":
    case "ArrowRight":
      if (foldable) send({ type: "fold", row: cursor, folded: event.key === "ArrowLeft" });
      return foldable;
    case "/":
      (event.currentTarget as HTMLElement).closest("[role=tabpanel]")?.querySelector<HTMLElement>("#search")?.focus();
      return true;
    case "l":
    case "L":
      send({ type: "code", code: { lineOnly: !lineOnly } });
      return true;
    case "o":
    case "O":
      post({ type: "document", name: `${state.model?.function ?? "program"}.mlir`, text: program.rows.map(({ text }) => text).join("\n") });
      return true;
    default:
      return false;
  }
}
