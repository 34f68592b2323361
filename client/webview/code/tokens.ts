// Splits a row of StableHLO into coloured pieces.
export type Kind = "plain" | "name" | "operation" | "type" | "number" | "elided";

export interface Token {
  readonly kind: Kind;
  readonly text: string;
  /** Is it a hit of the search? */
  readonly hit: boolean;
}

const ELIDED = String.raw`dense<⟨[^⟩]*⟩>|dense<"?(?:__elided__|\.\.\.)"?>|dense_resource<[^>]*>`;
const PIECES = new RegExp(
  [
    String.raw`(?<name>%[\w#]+|@[\w.]+)`,
    String.raw`(?<operation>\b(?:stablehlo|func|chlo|sdy|mhlo)\.\w+|\b(?:call|return|module)\b)`,
    String.raw`(?<type>tensor<[^>]*>)`,
    `(?<elided>${ELIDED})`,
    String.raw`(?<number>\bdense<[^>]*>)`,
  ].join("|"),
  "g",
);

/** The pieces of `text`; those that the query covers are marked. */
export function tokens(text: string, query = ""): Token[] {
  const pieces: { kind: Kind; start: number; end: number }[] = [];
  let last = 0;
  for (const match of text.matchAll(PIECES)) {
    if (match.index > last) pieces.push({ kind: "plain", start: last, end: match.index });
    const kind = (Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0] ?? "plain") as Kind;
    last = match.index + match[0].length;
    pieces.push({ kind, start: match.index, end: last });
  }
  if (last < text.length) pieces.push({ kind: "plain", start: last, end: text.length });
  const found = ranges(text, query);
  return pieces.flatMap(({ kind, start, end }) => cut(text, kind, start, end, found));
}

function ranges(text: string, query: string): [number, number][] {
  const found: [number, number][] = [];
  if (!query) return found;
  const lower = text.toLowerCase();
  const wanted = query.toLowerCase();
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) found.push([at, at + wanted.length]);
  return found;
}

function cut(text: string, kind: Kind, start: number, end: number, found: readonly [number, number][]): Token[] {
  const inside = found.filter(([from, to]) => from < end && to > start);
  if (kind === "elided" || inside.length === 0) return [{ kind, text: text.slice(start, end), hit: inside.length > 0 }];
  const parts: Token[] = [];
  let at = start;
  for (const [from, to] of inside) {
    if (from > at) parts.push({ kind, text: text.slice(at, from), hit: false });
    parts.push({ kind, text: text.slice(Math.max(from, at), Math.min(to, end)), hit: true });
    at = Math.min(to, end);
  }
  if (at < end) parts.push({ kind, text: text.slice(at, end), hit: false });
  return parts;
}

const BITS: Readonly<Record<string, number>> = { i1: 8, f8E4M3FN: 8, f8E5M2: 8, bf16: 16 };

/** Bytes of the first `tensor<768x3072xf32>` in a row; undefined when its size is not fixed. */
export function tensorBytes(text: string): number | undefined {
  const [, sizes = "", element = ""] = /tensor<((?:(?:\d+|\?)x)*)([\w]+(?:<\w+>)?)/.exec(text) ?? [];
  const bits = BITS[element] ?? (element.startsWith("complex") ? 2 : 1) * Number(/\d+/.exec(element)?.[0]);
  const count = sizes.split("x").slice(0, -1).map(Number).reduce((product, size) => product * size, 1);
  return Number.isNaN(count * bits) ? undefined : Math.ceil((count * bits) / 8);
}
