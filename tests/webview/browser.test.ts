// The page as a person uses it: clicks, keys, and how it looks.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Editor, THEMES } from "./support/browser.ts";
import { at, block, of, other, program, STATES, timings } from "./support/models.ts";

let editor: Editor;
before(async () => void (editor = await Editor.open()));
after(async () => editor.close());
beforeEach(() => void editor.problems.splice(0));

const MODEL = { type: "model", model: block } as const;
const PROGRAM = { type: "program", of: of("block"), form: "captured", program } as const;
const TIMINGS = { type: "timings", of: of("block"), timings } as const;
const tab = (name: string) => editor.page.getByRole("tab", { name });
const row = (text: string) => editor.page.getByRole("option", { name: text }).first();
const TABS = ["Overview", "Constants", "StableHLO", "Timings"] as const;

/** Runs a test that must leave nothing on the console: neither errors nor what the content policy has refused. */
function check(name: string, body: () => Promise<void>): void {
  test(name, async () => {
    await editor.page.setViewportSize({ width: 900, height: 900 });
    await body();
    assert.deepEqual(editor.problems, []);
  });
}

check("the page announces itself and says nothing before it has a model", async () => {
  await editor.fresh();
  assert.deepEqual(await editor.heard(), [{ type: "ready", pinned: false }]);
  assert.equal(await editor.page.locator("#panel").innerText(), "");
});

check("the finding box offers the fix and sends it with every name", async () => {
  await editor.fresh(MODEL);
  assert.match(await editor.page.locator(".look").innerText(), /5 arrays, 30.0 MiB, are compiled into block as constants/);
  await editor.heard();
  await editor.page.getByRole("button", { name: "Pass all 5 as arguments" }).click();
  const [sent] = await editor.heard();
  assert.equal(sent?.type, "fix");
  assert.deepEqual(sent.type === "fix" && sent.fixes.map(({ name }) => name), ["W_UP", "W_DOWN", "W_QKV", "POS", "W_OUT"]);
});

check("what it costs is measured on request, shown with its verdicts, and then no longer offered", async () => {
  await editor.fresh(MODEL);
  await editor.heard();
  await editor.page.getByRole("button", { name: "See what it costs" }).click();
  assert.deepEqual(await editor.heard(), [{ type: "time", forms: ["captured", "hoisted"] }]);
  await editor.tell(TIMINGS);
  assert.equal(await editor.page.getByRole("button", { name: "See what it costs" }).count(), 0);
  assert.match(await editor.page.locator(".look").innerText(), /As arguments the module is 4.2 KiB and compiles 1.8 × faster/);
  const compared = await editor.page.locator(".pairs").innerText();
  assert.match(compared, /spread too wide to tell/);
  assert.doesNotMatch(compared, /2\.1 ×/); // the ratio of `lower` must not be shown
});

check("a place goes to the editor", async () => {
  await editor.fresh(MODEL);
  await editor.heard();
  await editor.page.locator(".finds").getByRole("link", { name: "Go to line 29" }).click();
  assert.deepEqual(await editor.heard(), [{ type: "goto", place: at(29) }]);
});

check("tabs are chosen by arrow keys, and one is in the tab order", async () => {
  await editor.fresh(MODEL);
  await tab("Overview").focus();
  await editor.page.keyboard.press("ArrowRight");
  await editor.settle();
  assert.equal(await tab("Constants").getAttribute("aria-selected"), "true");
  assert.equal(await editor.page.evaluate(() => document.activeElement?.id), "t-constants");
  await editor.page.keyboard.press("End");
  await editor.settle();
  assert.equal(await tab("Timings").getAttribute("aria-selected"), "true");
  assert.equal(await editor.page.locator("[role=tab][tabindex='0']").count(), 1);
});

check("a signature is chosen by keys alone, and stays chosen over a reload", async () => {
  await editor.fresh(MODEL, PROGRAM);
  await editor.heard();
  const chip = editor.page.getByRole("combobox", { name: "Where the shapes come from" });
  assert.match(await chip.innerText(), /^run/);
  const active = () => chip.getAttribute("aria-activedescendant");
  await chip.focus();
  for (const [key, at] of [["Enter", 0], ["ArrowDown", 1], ["End", 2], ["ArrowDown", 2], ["Home", 0], ["ArrowDown", 1]] as const) {
    await editor.page.keyboard.press(key);
    await editor.settle();
    assert.equal(await active(), `signature-${at}`, key);
  }
  const options = editor.page.getByRole("listbox", { name: "Known signatures" }).getByRole("option");
  assert.deepEqual(await options.evaluateAll((all) => all.map((one) => one.getAttribute("aria-selected"))), ["true", "false", "false"]);
  await editor.picture("dark-900-signatures");
  await editor.page.keyboard.press("Enter");
  assert.deepEqual(await editor.heard(), [{ type: "signature", signature: other.signature }]);
  assert.equal(await options.count(), 0);
  await editor.tell({ type: "model", model: other });
  assert.match(await editor.page.locator(".sigtext").first().innerText(), /f32\[1,256,768\]/);
  assert.equal(await editor.page.getByRole("tab", { name: "Constants" }).innerText(), "Constants 3");
  await editor.page.reload();
  assert.deepEqual(await editor.heard(), [{ type: "ready", pinned: false }]);
  await editor.tell({ type: "model", model: other });
  await editor.page.getByRole("combobox").click();
  await editor.look("light", 420);
  await editor.picture("light-420-signatures");
  assert.equal(await options.nth(1).getAttribute("aria-selected"), "true");
});

check("the list of signatures closes by Escape and by leaving it, and its last entry declares", async () => {
  await editor.fresh(MODEL);
  await editor.heard();
  const list = editor.page.getByRole("listbox");
  const chip = editor.page.getByRole("combobox");
  for (const leave of [() => editor.page.keyboard.press("Escape"), () => editor.page.keyboard.press("Tab")]) {
    await chip.click();
    await editor.settle();
    assert.equal(await list.count(), 1);
    await leave();
    await editor.settle();
    assert.equal(await list.count(), 0);
  }
  await chip.focus();
  for (const key of ["Space", "End", "Space"]) await editor.page.keyboard.press(key).then(() => editor.settle());
  assert.deepEqual([await editor.heard(), await list.count()], [[{ type: "do", action: "declareShapes" }], 0]);
  await chip.click();
  await editor.page.getByRole("option", { name: "Declare shapes…" }).click();
  assert.deepEqual(await editor.heard(), [{ type: "do", action: "declareShapes" }]);
  assert.equal(await list.count(), 0);
});

check("constants sort by a column, and say so", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "constants" });
  const names = () => editor.page.locator(".consts tbody .name").allInnerTexts();
  assert.deepEqual(await names(), ["W_UP", "W_DOWN", "W_QKV", "POS", "W_OUT"]);
  await editor.page.getByRole("button", { name: "Name" }).click();
  await editor.settle();
  assert.deepEqual(await names(), ["POS", "W_DOWN", "W_OUT", "W_QKV", "W_UP"]);
  assert.equal(await editor.page.locator("th[aria-sort]").getAttribute("aria-sort"), "ascending");
});

check("the StableHLO is asked for when its tab is opened, once", async () => {
  await editor.fresh(MODEL);
  await editor.heard();
  await tab("StableHLO").click();
  assert.deepEqual(await editor.heard(), [{ type: "program", form: "captured" }]);
  await editor.tell({ type: "started", work: "program" }, { type: "ended", work: "program", message: "Lowering failed.", cancelled: false });
  assert.deepEqual(await editor.heard(), []);
  assert.match(await editor.page.locator(".work").innerText(), /Lowering failed/);
});

check("only the rows in sight exist, and every row of the program can be reached", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  const count = await editor.page.locator(".r").count();
  assert.ok(count > 20 && count < program.rows.length, `${count} rows of ${program.rows.length}`);
  await editor.page.getByRole("listbox").focus();
  await editor.page.keyboard.press("End");
  await editor.settle();
  await editor.settle();
  const last = editor.page.locator(`#row-${program.rows.length - 1}`);
  assert.equal(await last.getAttribute("aria-selected"), "true");
  assert.equal(await last.getAttribute("aria-posinset"), String(program.rows.length));
  const box = await last.boundingBox();
  assert.equal(box?.height, 20);
  assert.ok(box && box.y + box.height <= 901, "the last row is in sight");
});

check("of 100,000 rows only those in sight are drawn, wherever one scrolls", async () => {
  const rows = Array.from({ length: 100_000 }, (_, index) => program.rows[7 + (index % 90)]!);
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, { ...PROGRAM, program: { ...program, rows } });
  for (const share of [0, 0.5, 1]) {
    await editor.page.locator(".rows").evaluate((list, at) => {
      list.scrollTop = at * (list.scrollHeight - list.clientHeight);
    }, share);
    await editor.settle();
    await editor.settle();
    const drawn = await editor.page.locator(".r").count();
    assert.ok(drawn > 10 && drawn < 100, `${drawn} rows at ${share}`);
  }
});

check("a click on a row lights its source, Escape takes the light away, and then gives the focus back", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  await editor.heard();
  await row("%4 = stablehlo.multiply").click();
  const sent = await editor.heard();
  assert.deepEqual(sent.find(({ type }) => type === "light"), { type: "light", places: [at(21), at(29)] });
  await editor.page.mouse.move(5, 5);
  await editor.page.waitForTimeout(120);
  assert.ok((await editor.page.locator(".r.lit").count()) > 3);
  await editor.heard();
  await editor.page.keyboard.press("Escape");
  assert.deepEqual(await editor.heard(), [{ type: "light", places: [] }]);
  assert.equal(await editor.page.locator(".r.lit").count(), 0);
  await editor.page.keyboard.press("Escape");
  assert.deepEqual(await editor.heard(), [{ type: "do", action: "focusEditor" }]);
});

check("a pointer that rests on a row lights the source; one that passes does not", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  await editor.heard();
  await row("%3 = stablehlo.add").hover();
  await editor.page.waitForTimeout(120);
  assert.deepEqual(await editor.heard(), [{ type: "hover", place: at(28) }]);
  await editor.page.mouse.move(5, 5);
  await editor.page.waitForTimeout(120);
  assert.deepEqual(await editor.heard(), [{ type: "hover", place: null }]);
});

check("the editor's cursor lights the rows of its line and brings them into sight", async () => {
  await editor.page.setViewportSize({ width: 900, height: 500 });
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM, { type: "cursor", place: at(36) });
  await editor.settle();
  await editor.settle();
  const lit = await editor.page.locator(".r.lit").first().boundingBox();
  assert.ok(lit && lit.y > 100 && lit.y < 500, `lit row at ${lit?.y}`);
});

check("Enter on a row goes to its line, L shows that line alone", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM, { type: "cursor", place: at(28) });
  await editor.heard();
  await editor.page.getByRole("listbox").focus();
  await editor.page.keyboard.press("Enter");
  assert.deepEqual((await editor.heard()).at(-1), { type: "goto", place: at(28) });
  await editor.page.keyboard.press("l");
  await editor.settle();
  assert.equal(await editor.page.locator(".r").count(), program.rows.filter(({ lines }) => lines.some(({ line }) => line === 28)).length);
});

check("search counts rows, goes to the next, and says when there is none", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  await editor.page.getByRole("listbox").focus();
  await editor.page.keyboard.press("/");
  await editor.page.keyboard.type("dot_general");
  await editor.settle();
  const wanted = program.rows.filter(({ text }) => text.includes("dot_general")).length;
  assert.equal(await editor.page.locator(".hits").innerText(), `${wanted} rows`);
  await editor.page.keyboard.press("Enter");
  await editor.settle();
  assert.match((await editor.page.locator(".r.cur").innerText()) ?? "", /dot_general/);
  await editor.page.keyboard.type("x");
  await editor.settle();
  assert.equal(await editor.page.locator(".hits").innerText(), "no match");
  await editor.page.keyboard.press("Escape");
  await editor.settle();
  assert.equal(await editor.page.evaluate(() => document.activeElement?.getAttribute("role")), "listbox");
});

check("a function folds by key, and one operation can be chosen", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  await row("func.func public @main").click();
  await editor.page.keyboard.press("ArrowLeft");
  await editor.settle();
  assert.match(await editor.page.locator(".r.cur").innerText(), /… \d+ rows/);
  await editor.page.keyboard.press("ArrowRight");
  await editor.page.getByLabel("Filter by operation").selectOption("dot_general");
  await editor.settle();
  for (const text of await editor.page.locator(".r").allInnerTexts()) assert.match(text, /dot_general/);
});

check("a key that comes before the next frame acts on what the last one did", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  const cursor = await editor.page.evaluate(() => {
    const rows = document.querySelector<HTMLElement>("[role=listbox]")!;
    rows.focus();
    for (const key of ["Home", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"]) rows.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(document.querySelector(".r.cur")?.id))));
  });
  assert.equal(cursor, "row-2");
});

check("no value of an array is in the page, only its size", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  assert.match(await editor.page.locator(".elided.own").first().innerText(), /dense 3\.00 MiB/);
});

check("work under 300 ms is not mentioned, longer work can be cancelled by Escape", async () => {
  await editor.fresh(MODEL, { type: "started", work: "time" });
  assert.equal(await editor.page.locator(".work").count(), 0);
  await editor.tell({ type: "progress", progress: { path: block.path, function: "block", stage: "compiling", detail: "", done: null, seconds: 0 } });
  await editor.page.locator(".work").waitFor();
  assert.match(await editor.page.locator(".work").innerText(), /Compiling block/);
  assert.match(await editor.page.locator(".stages").innerText(), /compile\s+running/);
  await editor.heard();
  await editor.page.keyboard.press("Escape");
  assert.deepEqual(await editor.heard(), [{ type: "cancel" }]);
  await editor.tell({ type: "ended", work: "time", message: "Cancelled", cancelled: true });
  assert.match(await editor.page.locator(".work").innerText(), /Cancelled after/);
});

check("consent is sent as chosen, and nothing is sent before", async () => {
  await editor.fresh({ type: "model", model: STATES["consent"]! });
  assert.deepEqual((await editor.heard()).map(({ type }) => type), ["ready"]);
  await editor.page.getByLabel("Only when I ask").check();
  await editor.page.getByRole("button", { name: "Allow" }).click();
  assert.deepEqual(await editor.heard(), [{ type: "consent", answer: "manual" }]);
  await editor.page.getByRole("button", { name: "Not now" }).click();
  assert.deepEqual(await editor.heard(), []);
  assert.match(await editor.page.locator(".state").innerText(), /Nothing is run/);
});

check("P pins, R traces again, and neither does while typing", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  await editor.heard();
  await editor.page.keyboard.press("p");
  await editor.page.keyboard.press("r");
  assert.deepEqual(await editor.heard(), [{ type: "pin", pinned: true }, { type: "refresh" }]);
  await editor.page.getByLabel("Search the program").focus();
  await editor.page.keyboard.type("pr");
  assert.deepEqual(await editor.heard(), []);
});

check("a reload shows the same tab, pin and folds again", async () => {
  await editor.fresh(MODEL, { type: "show", tab: "stablehlo" }, PROGRAM);
  await editor.page.keyboard.press("p");
  await editor.page.getByRole("button", { name: "Fold function" }).last().click();
  await editor.settle();
  await editor.page.reload();
  assert.deepEqual((await editor.heard())[0], { type: "ready", pinned: true });
  await editor.tell(MODEL, PROGRAM);
  assert.equal(await tab("StableHLO").getAttribute("aria-selected"), "true");
  assert.equal(await editor.page.getByRole("button", { name: "Unfold function" }).count(), 1);
});

check("a failed trace goes to its line and to its traceback", async () => {
  await editor.fresh({ type: "model", model: STATES["failed"]! });
  await editor.heard();
  await editor.page.getByRole("button", { name: "Go to line 29" }).click();
  await editor.page.getByRole("button", { name: "Full traceback" }).click();
  assert.deepEqual(await editor.heard(), [{ type: "goto", place: at(29) }, { type: "do", action: "showTraceback" }]);
});

for (const theme of THEMES) {
  for (const width of [900, 420]) {
    check(`looks right: ${theme}, ${width} px`, async () => {
      await editor.fresh(MODEL, PROGRAM, TIMINGS, { type: "cursor", place: at(29) });
      await editor.look(theme, width);
      for (const name of TABS) {
        await tab(name).click();
        await editor.settle();
        await editor.picture(`${theme}-${width}-${name.toLowerCase()}`);
        const overflow = await editor.page.evaluate(() => document.querySelector(".view")!.scrollWidth - document.querySelector(".view")!.clientWidth);
        assert.ok(overflow <= 0, `${name} is ${overflow} px too wide`);
      }
      for (const [name, model] of Object.entries(STATES)) {
        await editor.fresh({ type: "model", model });
        await editor.look(theme, width);
        await editor.picture(`${theme}-${width}-state-${name}`);
        const overflow = await editor.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(overflow <= 0, `${name} is ${overflow} px too wide`);
      }
      await editor.fresh(MODEL, { type: "started", work: "time" });
      await editor.page.waitForTimeout(450);
      await editor.look(theme, width);
      await editor.picture(`${theme}-${width}-state-timing`);
    });
  }
}

check("names stay in one piece, also where there is little room", async () => {
  const [first, ...others] = block.constants;
  const long = "PROJECTION_OF_THE_FEED_FORWARD_LAYER";
  const model = { ...block, constants: [{ ...first!, name: long }, ...others], findings: block.findings.map((one, index) => (index === 0 ? { ...one, name: long } : one)) };
  await editor.fresh({ type: "model", model });
  for (const width of [900, 420, 300]) {
    await editor.page.setViewportSize({ width, height: 900 });
    for (const [name, cells] of [["Overview", ".finds code"], ["Constants", ".consts .name code"]] as const) {
      await tab(name).click();
      await editor.settle();
      const boxes = await editor.page.locator(cells).evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ width, height }) => [width, height] as const));
      assert.equal(boxes.length, 5);
      for (const [wide, high] of boxes) assert.ok(high < 22 && wide > 20, `${name} at ${width}: ${boxes.join(" ")}`);
    }
  }
});

check("secondary buttons have an edge where the theme gives them no background", async () => {
  for (const theme of THEMES) {
    await editor.fresh(MODEL);
    await editor.page.evaluate((name) => (document.documentElement.dataset["theme"] = name), theme);
    const edges = await editor.page.locator(".btn:not(.primary)").evaluateAll((all) => all.map((one) => getComputedStyle(one)).map((style) => [style.borderTopWidth, style.borderTopColor]));
    assert.ok(edges.length > 0);
    for (const [width, color] of edges) assert.ok(width === "1px" && !/, 0\)$|\/ 0\)$|^transparent$/.test(color!), `${theme}: ${width} ${color}`);
  }
});
