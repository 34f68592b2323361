// How figures are written. The same rules as in the server's ide/numbers.py.
import type { SourceLine } from "../src/protocol.generated.ts";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DISPATCH_BOUND_SECONDS = 10e-6;

/** `4.2 KiB`; two decimals in a column of bytes. */
export function bytes(count: number, decimals = 1): string {
  if (Math.abs(count) < 1024) return `${Math.round(count)} B`;
  let value = count / 1024;
  let unit = 1;
  while (Math.abs(value) >= 1024 - 0.5 * 10 ** -decimals && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(decimals)} ${UNITS[unit] ?? ""}`;
}

/** `41 µs`, `12.0 ms`, `295 ms`, `4.2 s`. */
export function seconds(duration: number): string {
  if (duration < 9.95e-6) return `${(duration * 1e6).toFixed(1)} µs`;
  if (duration < 999.5e-6) return `${(duration * 1e6).toFixed(0)} µs`;
  if (duration < 0.09995) return `${(duration * 1e3).toFixed(1)} ms`;
  if (duration < 0.9995) return `${(duration * 1e3).toFixed(0)} ms`;
  return duration < 99.95 ? `${duration.toFixed(1)} s` : `${duration.toFixed(0)} s`;
}

export const isDispatchBound = (perCall: number): boolean => perCall < DISPATCH_BOUND_SECONDS;

export const amount = (value: number, unit: "bytes" | "seconds"): string => (unit === "bytes" ? bytes(value) : seconds(value));

/** `1,204` */
export const thousands = (count: number): string => count.toLocaleString("en-US");

/** `1 constant`, `64 equations` */
export const counted = (count: number, word: string): string => `${thousands(count)} ${word}${count === 1 ? "" : "s"}`;

/** `15.4 GFLOP` */
export function flops(count: number): string {
  const prefixes = ["", "K", "M", "G", "T", "P", "E"];
  let value = count;
  let index = 0;
  while (value >= 999.5 && index < prefixes.length - 1) {
    value /= 1000;
    index += 1;
  }
  return index === 0 ? `${value.toFixed(0)} FLOP` : `${value.toFixed(1)} ${prefixes[index] ?? ""}FLOP`;
}

const baseName = (path: string): string => path.split(/[/\\]/).pop() ?? path;

/** `block.py:26` */
export const fullPlace = (place: SourceLine): string => `${baseName(place.path)}:${place.line}`;

/** `:29` in the file at hand, `train.py:18` in another. */
export const shortPlace = (place: SourceLine, here: string): string =>
  place.path === here ? `:${place.line}` : fullPlace(place);

/** `line 29`, or `train.py, line 18` in another file. */
export const spokenPlace = (place: SourceLine, here: string): string =>
  place.path === here ? `line ${place.line}` : `${baseName(place.path)}, line ${place.line}`;

/** `29`, `29 and 35`, `29, 30 and 35` */
export function listed(items: readonly (string | number)[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items[items.length - 1] ?? ""}`;
}
