// Rows, tokens, figures and the picture of a distribution.
import assert from "node:assert/strict";
import { test } from "node:test";
import { functionEnd, hits, mappedLines, nextHit, operationCounts, shownRows } from "../../client/webview/code/rows.ts";
import { tensorBytes, tokens } from "../../client/webview/code/tokens.ts";
import { quartiles, rings, ticks } from "../../client/webview/distribution.ts";
import { bytes, counted, flops, listed, seconds, shortPlace, spokenPlace } from "../../client/webview/numbers.ts";
import { at, program } from "./support/models.ts";

const ALL = { operation: "", place: null, folded: [] };
const main = program.rows.findIndex(({ text }) => text.includes("@main"));

test("filters by operation and by line hold together", () => {
  assert.equal(shownRows(program, ALL).length, program.rows.length);
  const rows = shownRows(program, { ...ALL, operation: "broadcast_in_dim", place: at(29) });
  assert.ok(rows.length > 0);
  for (const row of rows) {
    assert.equal(program.rows[row]?.op, "broadcast_in_dim");
    assert.ok(program.rows[row]?.lines.some(({ line }) => line === 29));
  }
});

test("a folded function keeps its first row and hides the others up to its brace", () => {
  const end = functionEnd(program, main);
  assert.equal(program.rows[end]?.text, "  }");
  const rows = shownRows(program, { ...ALL, folded: [main] });
  assert.equal(rows.length, program.rows.length - (end - main));
  assert.ok(rows.includes(main) && !rows.includes(main + 1) && rows.includes(end + 1));
});

test("search goes round at both ends", () => {
  const found = hits(program, shownRows(program, ALL), "DOT_GENERAL");
  assert.ok(found.length > 2);
  assert.equal(nextHit(found, found.at(-1)!, false), found[0]);
  assert.equal(nextHit(found, found[0]!, true), found.at(-1));
  assert.deepEqual(hits(program, [0, 1], ""), []);
  assert.equal(nextHit([], 0, false), undefined);
});

test("neighbouring lines have different hues, by turn", () => {
  const hues = mappedLines(program).map(({ hue }) => hue);
  hues.forEach((hue, index) => assert.equal(hue, index % 4));
});

test("operations are counted, the most frequent first", () => {
  const counts = operationCounts(program);
  assert.equal(counts.reduce((sum, [, count]) => sum + count, 0), program.rows.filter(({ op }) => op).length);
  assert.ok(counts[0]![1] >= counts.at(-1)![1]);
});

test("the pieces of a row put together are the row, searched or not", () => {
  for (const { text } of program.rows) for (const query of ["", "tensor<", "e", "%cst ="]) {
    assert.equal(tokens(text, query).map((token) => token.text).join(""), text);
  }
});

test("a hit is marked across the borders of pieces", () => {
  const marked = tokens("%0 = stablehlo.add %arg0 : tensor<4xf32>", "add %arg").filter(({ hit }) => hit);
  assert.deepEqual(marked.map(({ text, kind }) => [text, kind]), [["add", "operation"], [" ", "plain"], ["%arg", "name"]]);
});

test("an elided literal is one piece, of the size that its type tells", () => {
  const text = "%cst = stablehlo.constant dense_resource<__elided__> : tensor<768x3072xf32>";
  assert.deepEqual(tokens(text).filter(({ kind }) => kind === "elided").map((token) => token.text), ["dense_resource<__elided__>"]);
  assert.equal(tensorBytes(text), 9437184);
  assert.equal(tensorBytes("tensor<3xbf16>"), 6);
  assert.equal(tensorBytes("tensor<8xi1>"), 8);
  assert.equal(tensorBytes("tensor<2xcomplex<f32>>"), 16);
  assert.equal(tensorBytes("tensor<?x3xf32>"), undefined);
});

test("figures are written as everywhere else", () => {
  assert.deepEqual([41, 4321, 31457280, 1048575].map((size) => bytes(size)), ["41 B", "4.2 KiB", "30.0 MiB", "1.0 MiB"]);
  assert.equal(bytes(9437184, 2), "9.00 MiB");
  assert.deepEqual([4.1e-6, 41e-6, 0.012, 0.2947, 4.2].map(seconds), ["4.1 µs", "41 µs", "12.0 ms", "295 ms", "4.2 s"]);
  assert.deepEqual([counted(1, "const"), counted(1204, "equation")], ["1 const", "1,204 equations"]);
  assert.equal(flops(15.4e9), "15.4 GFLOP");
  assert.equal(listed([29, 30, 35]), "29, 30 and 35");
  assert.deepEqual([shortPlace(at(29), at(1).path), shortPlace({ path: "/project/train.py", line: 18 }, at(1).path)], [":29", "train.py:18"]);
  assert.equal(spokenPlace({ path: "/project/train.py", line: 18 }, at(1).path), "train.py, line 18");
});

test("quartiles lie between samples, ticks are round and cover them", () => {
  assert.deepEqual(quartiles([1, 2, 3, 4, 5]), [2, 4]);
  assert.deepEqual(quartiles([1, 2, 3, 4]), [1.75, 3.25]);
  assert.deepEqual(ticks(41, 63).map((tick) => Math.round(tick)), [40, 45, 50, 55, 60, 65]);
  const flat = ticks(0.5, 0.5);
  assert.ok(flat[0]! <= 0.5 && flat.at(-1)! >= 0.5 && flat.length >= 2);
});

test("rings never lie on one another and stay in their lane", () => {
  const placed = rings(Array.from({ length: 40 }, (_, index) => 100 + Math.floor(index / 8)));
  for (const [index, ring] of placed.entries()) {
    assert.ok(Math.abs(ring.y) <= 20);
    for (const other of placed.slice(0, index)) assert.ok(ring.x - other.x >= 6.5 || ring.y !== other.y);
  }
});
