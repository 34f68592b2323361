// What the views say, drawn without a browser.
import "./support/dom.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { render } from "lit-html";
import type { PanelModel } from "../../client/src/protocol.generated.ts";
import type { FromPanel } from "../../client/webview/messages.ts";
import { INITIAL, reduce, type Change, type State } from "../../client/webview/state.ts";
import { firstSentence } from "../../client/webview/views/parts.ts";
import { page } from "../../client/webview/views/page.ts";
import { block, guessed, STATES, timings } from "./support/models.ts";

function draw(model: PanelModel, more: Partial<State> = {}) {
  const changes: Change[] = [];
  const posted: FromPanel[] = [];
  const root = document.createElement("div");
  const state = { ...reduce(INITIAL, { type: "message", message: { type: "model", model }, now: 0 }), ...more };
  render(page({ state, send: (change) => changes.push(change), post: (message) => posted.push(message) }), root);
  const text = (root.textContent ?? "").replace(/\s+/g, " ");
  const press = (name: string) => [...root.querySelectorAll("button")].find((one) => one.textContent?.includes(name))?.click();
  return { root, text, changes, posted, press };
}

test("no finding is one plain line, with the threshold", () => {
  const { text, root } = draw({ ...block, findings: [], constants: [] });
  assert.match(text, /Nothing captured above 1\.0 MiB\./);
  assert.equal(root.querySelector(".look"), null);
  assert.doesNotMatch(text, /Captured against hoisted/);
});

test("a single finding speaks in its own words and offers its own fix", () => {
  const { text, posted, press } = draw({ ...block, findings: block.findings.slice(0, 1) });
  assert.match(text, /W_UP \(f32\[768,3072\], 9\.00 MiB\) is compiled into block as a constant\./);
  press("Pass W_UP as an argument");
  assert.deepEqual(posted, [{ type: "fix", fixes: [{ rule: "captured-array", name: "W_UP", line: 36 }] }]);
});

test("a size that is not known is not shown, and what is inferred says so", () => {
  const findings = block.findings.map((finding) => ({ ...finding, evidence: "static", bytes: null, type: "" }));
  const { text } = draw({ ...block, findings });
  assert.match(text, /5 arrays may be compiled into block as constants \(inferred\)\./);
  assert.doesNotMatch(text, /0 B|null|NaN|undefined/);
});

test("a finding that cannot be fixed has no button that does nothing", () => {
  const { text } = draw({ ...block, findings: block.findings.map((finding) => ({ ...finding, fix: null })) });
  assert.doesNotMatch(text, /as arguments? See|Pass/);
});

test("what the trace refuted stands below the findings with its reason", () => {
  assert.match(draw(block).text, /1 hidden by the trace: jnp\.tri\(S\) :33 is built by the program, not captured/);
});

test("a function without captured arrays says so in its tab, and times one form", () => {
  const bare = { ...block, constants: [], findings: [] };
  assert.match(draw(bare, { tab: "constants" }).text, /block captures no arrays\./);
  const { posted, press, root } = draw(bare, { tab: "timings" });
  assert.equal(root.querySelector(".bar.in select"), null);
  press("Time");
  assert.deepEqual(posted, [{ type: "time", forms: ["captured"] }]);
});

test("a verdict that forbids a ratio shows none", () => {
  const { text } = draw(block, { tab: "timings", timings });
  assert.match(text, /spread too wide to tell \(IQR 41 % of median\)/);
  assert.match(text, /No significant difference\. The medians are 2\.5 ms apart/);
});

test("one form alone is shown without verdicts", () => {
  const { text } = draw(block, { tab: "timings", timings, compare: "captured" });
  assert.doesNotMatch(text, /faster|significant|too wide/);
});

test("calls below 10 µs are said to be dispatch-bound", () => {
  const fast = timings.forms.map((form) => ({
    ...form,
    stages: form.stages.map((spread) => (spread.stage === "run" ? { ...spread, minimum: 3e-6, median: 4e-6, samples: [3e-6, 4e-6, 5e-6], runs: 3 } : spread)),
  }));
  assert.match(draw(block, { tab: "timings", timings: { ...timings, forms: fast } }).text, /dispatch-bound/);
});

test("figures that were not measured leave no hole behind", () => {
  const unknown = timings.forms.map((form) => ({ ...form, hostPeakBytes: null, argumentBytes: null, outputBytes: null, tempBytes: null, constantBytes: null, codeBytes: null, flops: null, moduleBytes: null }));
  const { text } = draw(block, { timings: { ...timings, forms: unknown, hloInstructions: null, fusions: null } });
  assert.doesNotMatch(text, /null|NaN|undefined|Memory|Device code/);
});

test("a change of the text is told with its lines, and links to them are marked", () => {
  const { text } = draw(STATES["stale"]!);
  assert.match(text, /Shown for the text traced at 14:02\. Lines 29 and 35 have changed since\./);
  assert.equal(text.match(/\(changed\)/g)?.length, 2);
});

test("every state says its sentence, and none shows tabs", () => {
  const sentences: Readonly<Record<string, RegExp>> = {
    nothing: /No shapes are known for layer yet ?layer exists only while roll runs, so importing the file does not trace it\. Choose one:/,
    guess: /No shapes are known for block yet ?The file has not been traced\. Choose one:/,
    choose: /Put the cursor in a traced function, or choose one:/,
    restricted: /Restricted Mode: your code is not run ?Findings from reading the source still work/,
    consent: /May jaxscope run code in this folder\?.*This stops accidents, not malice\./,
    tracing: /Tracing block 4\.2 s/,
    failed: /The trace failed on line 29.*TypeError:.*The shapes were a guess, so this may not be your bug\./,
    stopped: /The worker was stopped at 4\.0 GiB.*memory limit reached/,
    nojax: /No JAX in \.venv\/bin\/python \(3\.11\)/,
  };
  for (const [name, sentence] of Object.entries(sentences)) {
    const { text, root } = draw(STATES[name]!);
    assert.match(text, sentence, name);
    assert.equal(root.querySelector("[role=tablist]"), null, name);
  }
});

test("what helps where no shapes are known: a run, a comment, and a guess only if none was tried", () => {
  const choices = (name: string) => [...draw(STATES[name]!).root.querySelectorAll(".choices b")].map((one) => one.textContent);
  assert.deepEqual(choices("nothing"), ["Record a run.", "Declare the shapes"]);
  assert.deepEqual(choices("guess"), ["Record a run.", "Declare the shapes", "Use a guess."]);
  const { press, posted } = draw(STATES["guess"]!);
  for (const name of ["Record…", "Insert comment", "Use the guess"]) press(name);
  assert.deepEqual(posted, [{ type: "do", action: "record" }, { type: "do", action: "declareShapes" }, { type: "refresh" }]);
});

test("only a guess has the dotted pill, and what fails under one may not be the user's bug", () => {
  assert.equal(draw(block).root.querySelector(".head .chip .guess"), null);
  assert.equal(draw(guessed).root.querySelector(".head .chip .guess")?.textContent, "guess");
  const ended = { program: { message: "Lowering failed.", cancelled: false, seconds: 1 } };
  const WORDS = /The shapes were a guess, so this may not be your bug\./;
  assert.match(draw(guessed, { tab: "stablehlo", ended }).text, WORDS);
  assert.doesNotMatch(draw(block, { tab: "stablehlo", ended }).text, WORDS);
  assert.doesNotMatch(draw({ ...STATES["failed"]!, failed: { ...STATES["failed"]!.failed!, guess: false } }).text, WORDS);
});

test("a function is chosen from the file's list", () => {
  const { press, posted } = draw(STATES["choose"]!);
  press("roll.<locals>.layer");
  assert.deepEqual(posted, [{ type: "choose", function: "roll.<locals>.layer" }]);
});

test("text of the user's is never taken for markup", () => {
  const { root } = draw({ ...block, function: "<img src=x>", message: "", findings: block.findings.map((one) => ({ ...one, message: "<b>x</b>", name: "<i>y</i>" })) });
  assert.equal(root.querySelector("img, .finds i"), null);
});

test("every picture has words, every control a name, every table header a scope", () => {
  for (const tab of ["overview", "constants", "stablehlo", "timings"] as const) {
    const { root } = draw(block, { tab, timings });
    for (const picture of root.querySelectorAll("[role=img], svg:not([aria-hidden=true])")) assert.ok(picture.getAttribute("aria-label"), picture.outerHTML);
    for (const control of root.querySelectorAll("button, a, input")) {
      assert.ok((control.getAttribute("aria-label") ?? control.textContent)?.trim(), control.outerHTML);
    }
    for (const header of root.querySelectorAll("th")) assert.ok(header.getAttribute("scope"), header.outerHTML);
    assert.equal(root.querySelectorAll("[style]").length - root.querySelectorAll(".rows [style], i[style]").length, 0);
  }
});

test("a sentence ends at its dot, not at the dot in a name", () => {
  assert.deepEqual(firstSentence("Stopped at 4.0 GiB (jaxscope.trace.memoryLimit). A new one is ready."), [
    "Stopped at 4.0 GiB (jaxscope.trace.memoryLimit)",
    "A new one is ready.",
  ]);
  assert.deepEqual(firstSentence("May it run?"), ["May it run?", ""]);
});
