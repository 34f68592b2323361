// Recording a run from the editor: which programs are offered, and what the panel shows of what a run left.
import "./support/dom.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { render } from "lit-html";
import { environment, launched, tests, titleOf, words } from "../../client/src/features/programs.ts";
import type { OnlyRecorded, PanelModel } from "../../client/src/protocol.generated.ts";
import { messagesFor } from "../../client/webview/effects.ts";
import type { FromPanel, Tab } from "../../client/webview/messages.ts";
import { INITIAL, reduce, type State } from "../../client/webview/state.ts";
import { page } from "../../client/webview/views/page.ts";
import { block, STATES } from "./support/models.ts";

const FOLDER = "/project";
const nothing = () => undefined;

test("a command line is split as a shell would", () => {
  assert.deepEqual(words(`--steps 3  --name "two words" 'it''s' a\\ b ""`, true), ["--steps", "3", "--name", "two words", "its", "a b", ""]);
  assert.deepEqual(words(String.raw`C:\data\x.npz "C:\two words"`, false), [String.raw`C:\data\x.npz`, String.raw`C:\two words`]);
});

test("a title is what one would type", () => {
  assert.equal(titleOf({ command: ["train.py", "--name", "two words"], cwd: FOLDER, env: {} }), 'train.py --name "two words"');
});

test("pytest runs the tests of a test file, and all of them from any other", () => {
  assert.deepEqual(tests(FOLDER, `${FOLDER}/tests/test_model.py`), ["-m", "pytest", "tests/test_model.py"]);
  assert.deepEqual(tests(FOLDER, `${FOLDER}/train.py`), ["-m", "pytest"]);
});

test("a configuration's program, arguments, folder, variables and interpreter are taken over", () => {
  const launch = { type: "debugpy", request: "launch", name: "x", program: "${file}", args: "--steps 3", env: { A: "own", N: 1 }, cwd: "/elsewhere", python: "/py" };
  const read = (file: string) => (file === `${FOLDER}/.env` ? "A=file\nexport B='two words' \n# C=3\nD=4 # why\n" : undefined);
  assert.deepEqual(launched(launch, FOLDER, read), {
    command: ["${file}", "--steps", "3"], cwd: "/elsewhere", env: { A: "own", B: "two words", D: "4", N: "1" }, python: "/py",
  });
  assert.deepEqual(launched({ type: "python", request: "launch", module: "pkg.train", args: ["a b"] }, FOLDER, nothing), {
    command: ["-m", "pkg.train", "a b"], cwd: FOLDER, env: {},
  });
  for (const other of [{ type: "debugpy", request: "attach" }, { type: "node", request: "launch", program: "x.js" }, { type: "debugpy", request: "launch", code: "1" }]) {
    assert.equal(launched(other, FOLDER, nothing), undefined);
  }
});

test("an empty or broken .env file gives no variables", () => {
  assert.deepEqual(environment("\n# nothing\n=x\n1A=2\nnot a line\n"), {});
});

const LOCALS: OnlyRecorded = { reason: "step exists only while fit runs, so importing the file does not trace it.", detail: "Shapes and constants are those of a recorded run.", action: "" };
const SIGNATURE = { ...block.signatures[0]!, source: "recorded", origin: "train.py:18, traced 3 times", calls: 1, recorded: "first call; 1.2 s compiling" };

function draw(model: PanelModel, tab: Tab = "overview", more: Partial<State> = {}) {
  const posted: FromPanel[] = [];
  const before = { ...INITIAL, tab, ...more };
  const state = reduce(before, { type: "message", message: { type: "model", model }, now: 0 });
  const root = document.createElement("div");
  render(page({ state, send: () => undefined, post: (message) => posted.push(message) }), root);
  const press = (name: string) => [...root.querySelectorAll("button")].find((one) => one.textContent?.includes(name))?.click();
  return { root, text: (root.textContent ?? "").replace(/\s+/g, " "), posted, press, asked: messagesFor(before, state) };
}

const recorded = (only: OnlyRecorded | null): PanelModel => ({ ...block, signatures: [SIGNATURE], onlyRecorded: only });

test("the chip says recorded, where, and how often; the list says why and at what cost", () => {
  const { root, text } = draw(recorded(null), "overview", { signatureAt: 0 });
  assert.match(root.querySelector(".chip")?.textContent?.replace(/\s+/g, " ") ?? "", /recorded train\.py:18, traced 3 times/);
  assert.match(text, /train\.py:18, traced 3 times · first call; 1\.2 s compiling/);
});

test("calls are counted beside the place", () => {
  const { root } = draw({ ...block, signatures: [{ ...SIGNATURE, source: "run", origin: "train.py:18", calls: 3 }] });
  assert.match(root.querySelector(".chip")?.textContent?.replace(/\s+/g, " ") ?? "", /run train\.py:18, 3 calls/);
});

for (const tab of ["stablehlo", "timings"] as const) {
  test(`what only a run knows has no ${tab}: it says why, and asks for nothing`, () => {
    const { text, asked, root } = draw(recorded(LOCALS), tab);
    assert.match(text, /step exists only while fit runs/);
    assert.deepEqual(asked.filter(({ type }) => type === "program" || type === "constants"), []);
    assert.equal(root.querySelector("[role=listbox]"), null);
  });
}

test("its constants are shown, without lowering for them", () => {
  const { text, asked } = draw(recorded(LOCALS), "constants");
  assert.match(text, /5 captured arrays/);
  assert.deepEqual(asked.filter(({ type }) => type === "constants"), []);
});

test("its overview offers nothing that would need the program, and marks what is not possible here", () => {
  const { text, root } = draw(recorded(LOCALS));
  assert.match(text, /step exists only while fit runs/);
  assert.doesNotMatch(text, /Lower|Compile|Measure|See what it costs/);
  assert.match(root.querySelector(".stages")?.textContent?.replace(/\s+/g, " ") ?? "", /trace done.*lower not possible here.*run not possible here/);
});

const REMEDIES: readonly (readonly [OnlyRecorded["action"], string, FromPanel])[] = [
  ["trace", "Trace now", { type: "refresh" }],
  ["trust", "Manage workspace trust", { type: "do", action: "manageTrust" }],
  ["consent", "Change when code is run…", { type: "do", action: "changePolicy" }],
  ["interpreter", "Choose interpreter", { type: "do", action: "selectInterpreter" }],
];
for (const [action, name, message] of REMEDIES) {
  test(`where ${action} would help, it is offered`, () => {
    const { posted, press } = draw(recorded({ ...LOCALS, action }), "timings");
    press(name);
    assert.deepEqual(posted, [message]);
  });
}

test("a function without shapes offers to record a run", () => {
  const { posted, press } = draw(STATES["nothing"]!);
  press("Record…");
  assert.deepEqual(posted, [{ type: "do", action: "record" }]);
});
