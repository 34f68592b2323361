// How the page's state changes, and what the page says because of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { messagesFor } from "../../client/webview/effects.ts";
import type { ToPanel } from "../../client/webview/messages.ts";
import { restored, toSave } from "../../client/webview/saved.ts";
import { activeStage, workSince } from "../../client/webview/stages.ts";
import { INITIAL, litPlace, reduce, restingPlace, type Change, type State } from "../../client/webview/state.ts";
import { at, block, lowered, of, other, program, timings, untraced } from "./support/models.ts";

const message = (told: ToPanel, now = 1000): Change => ({ type: "message", message: told, now });
const after = (...changes: Change[]): State => changes.reduce(reduce, INITIAL);
const MODEL = message({ type: "model", model: block });
const PROGRAM = message({ type: "program", of: of("block"), form: "captured", program });
const TIMINGS = message({ type: "timings", of: of("block"), timings });

test("another function drops what was made of the one before", () => {
  const other = message({ type: "model", model: { ...block, function: "norm", line: 20 } });
  const state = after(MODEL, PROGRAM, TIMINGS, { type: "keep", places: [at(29)] }, other);
  assert.deepEqual([state.programs, state.timings, state.kept], [{}, null, []]);
});

test("the same trace keeps programs and timings, a new trace drops them but not the tab", () => {
  const stale = message({ type: "model", model: { ...block, staleLines: [29] } });
  const kept = after(MODEL, PROGRAM, TIMINGS, stale);
  assert.equal(kept.programs.captured, program);
  assert.equal(kept.timings, timings);
  const traced = reduce(reduce(kept, { type: "tab", tab: "timings" }), message({ type: "model", model: { ...block, tracedAt: "14:09:00" } }));
  assert.deepEqual([traced.programs, traced.timings, traced.tab], [{}, null, "timings"]);
});

test("while a function's own lines are edited, what was shown of it stays, with the lines that changed", () => {
  const edited = message({ type: "model", model: { ...untraced("no-shapes", "No shapes are known."), tracedAt: block.tracedAt, staleLines: [29] } });
  const state = after(MODEL, PROGRAM, edited);
  assert.deepEqual([state.model?.state, state.model?.constants.length, state.model?.staleLines], ["ready", 5, [29]]);
  assert.equal(state.programs.captured, program);
  const tracing = message({ type: "model", model: { ...untraced("running", "Tracing block 0.4 s"), tracedAt: block.tracedAt, staleLines: [29] } });
  assert.equal(reduce(state, tracing).model?.state, "ready");
  assert.equal(after(edited).model?.state, "no-shapes");
});

test("answers for a function that is no longer shown are not taken", () => {
  const late = after(MODEL, message({ type: "program", of: of("norm"), form: "captured", program }), message({ type: "timings", of: of("norm"), timings }));
  assert.deepEqual([late.programs, late.timings], [{}, null]);
});

const CHOSEN: Change = { type: "signature", signature: other.signature };
const OTHER = message({ type: "model", model: other });

test("a chosen signature is told once, and what was made of the one before is dropped when it is shown", () => {
  const before = after(MODEL, PROGRAM, TIMINGS, { type: "tab", tab: "stablehlo" }, { type: "fold", row: 1, folded: true });
  const chosen = reduce(before, CHOSEN);
  assert.deepEqual(messagesFor(before, chosen), [{ type: "signature", signature: other.signature }]);
  assert.equal(chosen.programs.captured, program);
  const shown = reduce(chosen, OTHER);
  assert.deepEqual([shown.programs, shown.lowered, shown.timings, shown.code.folded, shown.tab], [{}, null, null, [], "stablehlo"]);
  assert.deepEqual(messagesFor(chosen, shown).filter(({ type }) => type !== "hues"), [{ type: "program", form: "captured" }]);
});

test("answers for a signature that is no longer shown are not taken", () => {
  const late = after(MODEL, CHOSEN, OTHER, PROGRAM, TIMINGS, message({ type: "constants", of: of("block"), lowered }));
  assert.deepEqual([late.programs, late.lowered, late.timings], [{}, null, null]);
  const own = reduce(late, message({ type: "program", of: { ...of("block"), signature: other.signature }, form: "captured", program }));
  assert.equal(own.programs.captured, program);
});

test("a chosen signature lasts while its function is shown, also while it is not traced, and not when it is gone", () => {
  const chosen = after(MODEL, CHOSEN, OTHER);
  const kept = [
    message({ type: "model", model: { ...other, tracedAt: "14:09:00" } }),
    message({ type: "model", model: untraced("failed", "The trace failed on line 29") }),
    MODEL, // the answer to a question from before the choice
  ];
  for (const change of kept) assert.equal(reduce(chosen, change).signature, other.signature);
  const gone = message({ type: "model", model: { ...block, signatures: block.signatures.slice(0, 1), tracedAt: "14:09:00" } });
  const elsewhere = message({ type: "model", model: { ...other, function: "norm", line: 20 } });
  for (const change of [gone, elsewhere]) {
    const state = reduce(chosen, change);
    assert.equal(state.signature, "");
    assert.deepEqual(messagesFor(chosen, state).filter(({ type }) => type === "signature"), [{ type: "signature", signature: "" }]);
  }
});

test("the pointer's light goes before the kept one, and that before the cursor's", () => {
  const cursor = after(MODEL, message({ type: "cursor", place: at(36) }));
  const kept = reduce(cursor, { type: "keep", places: [at(21), at(29)], row: 11 });
  const passing = reduce(kept, { type: "pass", place: at(30) });
  assert.deepEqual([cursor, kept, passing].map(litPlace), [at(36), at(21), at(30)]);
  assert.deepEqual(restingPlace(passing), at(21));
  assert.equal(kept.code.cursor, 11);
});

test("a cursor that goes to another line ends the kept light, one that stays does not", () => {
  const kept = after(MODEL, message({ type: "cursor", place: at(36) }), { type: "keep", places: [at(29)] });
  assert.deepEqual(reduce(kept, message({ type: "cursor", place: at(36) })).kept, [at(29)]);
  assert.deepEqual(reduce(kept, message({ type: "cursor", place: at(30) })).kept, []);
});

test("the cursor's line brings its first row into sight", () => {
  const before = after(MODEL, PROGRAM);
  const state = reduce(before, message({ type: "cursor", place: at(30) }));
  assert.deepEqual(program.rows[state.code.cursor]?.lines[0], at(30));
  assert.equal(state.code.reveals, before.code.reveals + 1);
});

test("sorting by the same column turns round, by another begins with its own order", () => {
  const once = after({ type: "sort", column: "name" });
  assert.deepEqual(once.sort, { column: "name", descending: false });
  assert.deepEqual(reduce(once, { type: "sort", column: "name" }).sort, { column: "name", descending: true });
  assert.deepEqual(reduce(once, { type: "sort", column: "bytes" }).sort, { column: "bytes", descending: true });
});

test("work is mentioned after 300 ms, with the stage only once it was told", () => {
  const young = after(MODEL, message({ type: "started", work: "time" }, 1000), { type: "tick", now: 1290 });
  assert.equal(workSince(young), undefined);
  const older = reduce(young, { type: "tick", now: 1300 });
  assert.equal(workSince(older), 1000);
  assert.equal(activeStage(older), undefined);
  const told = reduce(older, message({ type: "progress", progress: { path: "", function: "", stage: "compiling", detail: "", done: null, seconds: 1 } }));
  assert.equal(activeStage(told), "compile");
});

test("work that failed or was cancelled leaves a word, work that succeeded none", () => {
  const started = after(MODEL, message({ type: "started", work: "time" }, 1000));
  const end = (text: string, cancelled: boolean) => reduce(started, message({ type: "ended", work: "time", message: text, cancelled }, 5200));
  assert.deepEqual(end("", false).ended, {});
  assert.deepEqual(end("", true).ended.time, { message: "", cancelled: true, seconds: 4.2 });
  assert.equal(end("No memory left.", false).ended.time?.message, "No memory left.");
  assert.equal(end("", false).work.time, undefined);
});

test("the program is asked for when its tab comes into sight, not twice, and not again after a failure", () => {
  const before = after(MODEL);
  const open = reduce(before, { type: "tab", tab: "stablehlo" });
  assert.deepEqual(messagesFor(before, open), [{ type: "program", form: "captured" }]);
  assert.deepEqual(messagesFor(open, reduce(open, { type: "sort", column: "name" })), []);
  const failed = [message({ type: "started", work: "program" }), message({ type: "ended", work: "program", message: "no", cancelled: false })].reduce(reduce, open);
  assert.deepEqual(messagesFor(open, failed), []);
  const hoisted = reduce(open, { type: "form", form: "hoisted" });
  assert.deepEqual(messagesFor(open, hoisted), [{ type: "program", form: "hoisted" }]);
});

test("the editor marks the lines of a program while it is in sight", () => {
  const open = after(MODEL, { type: "tab", tab: "stablehlo" });
  const shown = reduce(open, PROGRAM);
  const [hues] = messagesFor(open, shown);
  assert.ok(hues?.type === "hues" && hues.lines.length > 5);
  assert.deepEqual(messagesFor(shown, reduce(shown, { type: "tab", tab: "overview" })), [{ type: "hues", lines: [] }]);
});

test("what was saved is shown again, and rubbish that was saved is not", () => {
  const state = after(MODEL, { type: "pin" }, { type: "tab", tab: "constants" }, { type: "fold", row: 1, folded: true }, { type: "keep", places: [at(29)] }, CHOSEN);
  const again = restored(JSON.parse(JSON.stringify(toSave(state))));
  assert.deepEqual([again.pinned, again.tab, again.code.folded, again.kept, again.signature], [true, "constants", [1], [at(29)], other.signature]);
  assert.equal(reduce(again, MODEL).kept.length, 1);
  assert.deepEqual(restored({ tab: "gone", pinned: "yes", kept: 3, signature: 4 }), INITIAL);
  assert.deepEqual(restored(undefined), INITIAL);
});
