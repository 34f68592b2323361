// The extension's own small decisions, without an editor.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { parameterNames } from "../../client/src/features/declareShapes.ts";
import { html } from "../../client/src/features/panelPage.ts";
import { environmentOf, problemWith, tooOld } from "../../client/src/python.ts";
import { nest } from "../../client/src/settings.ts";

test("a Python that is too old is named with its path and version", () => {
  assert.equal(tooOld("/usr/bin/python3", "3 9\n"), "/usr/bin/python3 is Python 3.9; jaxscope needs 3.10 or newer.");
  for (const version of ["3 10", "3 13", "4 0"]) assert.equal(tooOld("python3", version), undefined);
});

test("an interpreter is tried, and one that is not there is named", async () => {
  assert.equal(await problemWith("python3"), undefined);
  assert.match((await problemWith("/nowhere/python")) ?? "", /^\/nowhere\/python cannot be used as the interpreter: there is no such file\.$/);
});

test("the folder's own environment is found", () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "jaxscope-"));
  assert.equal(environmentOf(root), undefined);
  const inside = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  const file = path.join(root, ".venv", ...inside);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, "");
  assert.equal(environmentOf(root), file);
  fs.rmSync(root, { recursive: true });
});

test("settings are nested as the server reads them", () => {
  const settings = {};
  nest(settings, ["trace", "when"], "manual");
  nest(settings, ["trace", "timeout"], 5);
  nest(settings, ["codeLens"], false);
  assert.deepEqual(settings, { trace: { when: "manual", timeout: 5 }, codeLens: false });
});

test("parameters of a def are read for the placeholder, self left out", () => {
  assert.deepEqual(parameterNames("    def project(self, x: Array, *, scale=1.0, **rest):"), ["x", "scale"]);
  assert.deepEqual(parameterNames("project = jax.jit(lambda x: x)"), []);
});

test("the page allows one script by its nonce, styles from one place, and nothing else", () => {
  const page = html("s.js", "s.css", "https://source", "abc");
  assert.match(page, /content="default-src 'none'; style-src https:\/\/source; script-src 'nonce-abc'"/);
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.doesNotMatch(page, /unsafe|style=|onclick/);
});
