// Which rows of a program are shown, and where they come from.
import type { OperationRow, ProgramText, SourceLine } from "../../src/protocol.generated.ts";
import type { MappedLine } from "../messages.ts";
import { oncePerProgram } from "./memo.ts";

export const ROW_HEIGHT = 20;
const HUES = 4;

export const samePlace = (one: SourceLine, other: SourceLine): boolean => one.line === other.line && one.path === other.path;

export const comesFrom = (row: OperationRow, place: SourceLine): boolean => row.lines.some((line) => samePlace(line, place));

/** The first row that comes from a line. */
export function firstRow(program: ProgramText, place: SourceLine): number | undefined {
  const index = program.rows.findIndex((row) => comesFrom(row, place));
  return index < 0 ? undefined : index;
}

export const opensFunction = (row: OperationRow): boolean => /^\s*func\.func\b.*\{\s*$/.test(row.text);

/** Row of the brace that closes the function opened at `start`. */
export function functionEnd(program: ProgramText, start: number): number {
  const indent = indentOf(program.rows[start]);
  for (let row = start + 1; row < program.rows.length; row += 1) {
    if (program.rows[row]?.text.trim() === "}" && indentOf(program.rows[row]) === indent) return row;
  }
  return program.rows.length - 1;
}

const indentOf = (row: OperationRow | undefined): number => (row?.text.length ?? 0) - (row?.text.trimStart().length ?? 0);

export interface Filter {
  readonly operation: string;
  /** Only rows that come from this line. */
  readonly place: SourceLine | null;
  readonly folded: readonly number[];
}

/** Indices of the rows that pass, in order. */
export function shownRows(program: ProgramText, filter: Filter): number[] {
  const shown: number[] = [];
  for (let row = 0; row < program.rows.length; row += 1) {
    const one = program.rows[row];
    if (one === undefined) continue;
    const passes = (!filter.operation || one.op === filter.operation) && (!filter.place || comesFrom(one, filter.place));
    if (passes) shown.push(row);
    if (filter.folded.includes(row) && opensFunction(one)) row = functionEnd(program, row);
  }
  return shown;
}

/** Rows whose text holds the query, whatever its case. */
export function hits(program: ProgramText, shown: readonly number[], query: string): number[] {
  if (!query) return [];
  const wanted = query.toLowerCase();
  return shown.filter((row) => program.rows[row]?.text.toLowerCase().includes(wanted));
}

/** The hit after (or before) a row, going round at the end. */
export function nextHit(found: readonly number[], row: number, backwards: boolean): number | undefined {
  if (backwards) return [...found].reverse().find((hit) => hit < row) ?? found[found.length - 1];
  return found.find((hit) => hit > row) ?? found[0];
}

/** The operations of a program with their counts, the most frequent first. */
export const operationCounts = oncePerProgram((program): [string, number][] => {
  const counts = new Map<string, number>();
  for (const { op } of program.rows) if (op) counts.set(op, (counts.get(op) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b));
});

/** The source lines that the program comes from, in order; neighbours have different hues. */
export const mappedLines = oncePerProgram((program): MappedLine[] => {
  const places = new Map<string, SourceLine>();
  for (const { lines } of program.rows) if (lines[0]) places.set(keyOf(lines[0]), lines[0]);
  const ordered = [...places.values()].sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
  return ordered.map((place, index) => ({ ...place, hue: index % HUES }));
});

/** The hue of each mapped line, by `keyOf` its place. */
export const huesOf = oncePerProgram((program) => new Map(mappedLines(program).map((line) => [keyOf(line), line.hue])));

export const keyOf = (place: SourceLine): string => `${place.path}:${place.line}`;
