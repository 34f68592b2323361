// The Constants tab in the browser: asked for when opened, sorted by any column, and how it looks.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { ConstantsLowered } from "../../client/src/protocol.generated.ts";
import { Editor, THEMES } from "./support/browser.ts";
import { block, lowered, of, program, timings } from "./support/models.ts";

let editor: Editor;
before(async () => void (editor = await Editor.open()));
after(async () => editor.close());
beforeEach(async () => {
  editor.problems.splice(0);
  await editor.page.setViewportSize({ width: 900, height: 900 });
});

const MODEL = { type: "model", model: block } as const;
const SHOW = { type: "show", tab: "constants" } as const;
const LOWERED = { type: "constants", of: of("block"), lowered } as const;
const PROGRAM = { type: "program", of: of("block"), form: "captured", program } as const;
const view = () => editor.page.locator("#v-constants");

/** As under the flag, on four devices, with a token, a dimension variable and an array that is passed twice. */
const HOISTS: ConstantsLowered = {
  ...lowered,
  lead: "JAX 0.10.2 passes captured arrays over 32 B (`jax_embedded_constants_max_bytes`) as hidden arguments (`const_arg`), because `jax_use_simplified_jaxpr_constants` is on. `jax.export` inlines them all the same.",
  constants: lowered.constants.map((one, index) => ({ ...one, form: "core.Literal", lowered: "const_arg", name: `%arg${index}`, row: index + 1, copies: index === 0 ? 2 : 1 })),
  captured: [
    { kind: "dimension", name: "batch", type: "tensor<i32>", bytes: 0, sharding: "", layout: "", donated: false },
    { kind: "token", name: "token", type: "token", bytes: 0, sharding: "", layout: "", donated: false },
    ...lowered.hoisted,
  ],
};
const SPREAD: ConstantsLowered = {
  ...lowered,
  lost: ["`W_UP` loses its 4-way sharding when inlined: the program has all 9.0 MiB of it for each device, not 2.2 MiB.", "Inlined, the program is made for 1 device; hoisted, for 4."],
  hoisted: lowered.hoisted.map((one) => (one.name === "W_UP" ? { ...one, sharding: "P('model', None)", layout: "{0,1}" } : { ...one, donated: one.name === "x" })),
  unused: ["mask", "options['deep']['deeper']"],
};

function check(name: string, body: () => Promise<void>): void {
  test(name, async () => {
    await body();
    assert.deepEqual(editor.problems, []);
  });
}

check("the tab asks once when it is opened, and says how it failed", async () => {
  await editor.fresh(MODEL);
  await editor.heard();
  await editor.page.getByRole("tab", { name: "Constants" }).click();
  assert.deepEqual(await editor.heard(), [{ type: "constants" }]);
  await editor.tell({ type: "started", work: "constants" }, { type: "ended", work: "constants", message: "Lowering failed.", cancelled: false });
  assert.deepEqual(await editor.heard(), []);
  assert.match(await view().innerText(), /Lowering failed/);
  await view().getByRole("button", { name: "Try again" }).click();
  assert.deepEqual(await editor.heard(), [{ type: "constants" }]);
  await editor.tell(LOWERED);
  assert.match(await view().innerText(), /5 captured arrays, 30\.0 MiB of a 30\.0 MiB module\.\s+JAX 0\.10\.2 inlines captured arrays/);
});

check("a newer trace asks anew", async () => {
  await editor.fresh(MODEL, SHOW, LOWERED);
  await editor.heard();
  await editor.tell({ type: "model", model: { ...block, tracedAt: "15:00:00" } });
  assert.deepEqual(await editor.heard(), [{ type: "constants" }]);
});

check("every column sorts, both ways, and says so", async () => {
  await editor.fresh(MODEL, SHOW, LOWERED);
  const names = () => view().locator("tbody .name").allInnerTexts();
  for (const title of ["Name", "Bound", "Type", "Bytes", "In the jaxpr", "Lowered to", "Read"]) {
    const button = view().getByRole("button", { name: title, exact: true });
    await button.click();
    await editor.settle();
    const [first, order] = [await names(), await view().locator("th[aria-sort]").getAttribute("aria-sort")];
    await button.click();
    await editor.settle();
    assert.equal(await view().locator("th[aria-sort]").count(), 1);
    assert.notEqual(await view().locator("th[aria-sort]").getAttribute("aria-sort"), order, title);
    assert.notDeepEqual(await names(), first, title);
  }
});

check("the operation that holds an array is gone to, also when the program comes later", async () => {
  await editor.fresh(MODEL, SHOW, LOWERED);
  await editor.heard();
  await view().getByRole("link", { name: "%cst_2, stablehlo.constant in @main" }).click();
  assert.deepEqual(await editor.heard(), [{ type: "program", form: "captured" }]);
  await editor.tell(PROGRAM);
  const row = editor.page.locator("[role=option][aria-selected=true]");
  assert.match(await row.innerText(), /%cst_2 = stablehlo\.constant/);
  assert.ok(await row.isVisible());
});

check("arguments stand in their order, and empty kinds are said", async () => {
  await editor.fresh(MODEL, SHOW, LOWERED);
  const lists = view().locator(".args");
  assert.deepEqual(await lists.nth(0).locator("li").allInnerTexts(), ["dimension variables 0", "tokens 0", "const args 0", "x 3.00 MiB", "gain 3.00 KiB"]);
  assert.deepEqual(await lists.nth(1).locator(".ca b").allInnerTexts(), ["POS", "W_QKV", "W_OUT", "W_UP", "W_DOWN"]);
  await editor.tell({ ...LOWERED, lowered: HOISTS });
  assert.deepEqual((await lists.nth(0).locator("li b").allInnerTexts()).slice(0, 3), ["batch", "token", "POS"]);
  assert.equal(await lists.nth(0).locator(".none").count(), 0);
});

check("a lost sharding is said before the table; without captures there are the classes", async () => {
  await editor.fresh(MODEL, SHOW, { ...LOWERED, lowered: SPREAD });
  assert.match(await view().locator(".lost").innerText(), /W_UP loses its 4-way sharding when inlined/);
  const bare = { ...block, constants: [], findings: [] };
  await editor.fresh({ type: "model", model: bare }, SHOW, { ...LOWERED, lowered: { ...lowered, constants: [], lost: [], notes: [], hoisted: lowered.captured } });
  const text = await view().innerText();
  assert.match(text, /^block captures no arrays\.\s+Every stablehlo\.constant/);
  assert.equal(await view().locator(".args").count(), 1);
});

check("what was measured stays over a trace of the same program, and goes when the server no longer has it", async () => {
  const timed = { ...block, timings, tracedAt: "15:00:00" };
  await editor.fresh(MODEL, { type: "show", tab: "timings" }, { type: "timings", of: of("block"), timings });
  await editor.tell({ type: "model", model: timed });
  assert.match(await editor.page.locator("#v-timings").innerText(), /Each call after that/);
  await editor.tell({ type: "model", model: { ...block, tracedAt: "16:00:00" } });
  assert.doesNotMatch(await editor.page.locator("#v-timings").innerText(), /Each call after that/);
});

for (const theme of THEMES) {
  for (const width of [900, 420]) {
    check(`looks right: ${theme}, ${width} px`, async () => {
      for (const [name, shown] of Object.entries({ inlined: lowered, hoists: HOISTS, spread: SPREAD })) {
        await editor.fresh(MODEL, SHOW, { ...LOWERED, lowered: shown });
        await editor.look(theme, width);
        await editor.picture(`${theme}-${width}-constants-${name}`);
        const overflow = await view().evaluate((one) => one.scrollWidth - one.clientWidth);
        assert.ok(overflow <= 0, `${name} is ${overflow} px too wide`);
      }
    });
  }
}
