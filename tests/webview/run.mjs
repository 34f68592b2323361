// Builds the page and the tests, and runs the tests with node's own runner. Names of files as arguments choose among them.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const out = path.join(root, "build/webview-tests");
const chosen = process.argv.slice(2);
const tests = fs.readdirSync(here).filter((file) => file.endsWith(".test.ts") && (chosen.length === 0 || chosen.some((name) => file.includes(name))));

process.chdir(root);
const built = spawnSync(process.execPath, ["esbuild.mjs"], { stdio: "inherit" });
if (built.status !== 0) process.exit(built.status ?? 1);
fs.rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: tests.map((file) => path.join(here, file)),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  external: ["playwright-core", "happy-dom"],
  alias: { vscode: path.join(here, "support/vscode.ts") },
  mainFields: ["module", "main"],
  plugins: [{
    name: "lit-html for browsers", // not its build for servers, which node's conditions would choose
    setup: (build) => build.onResolve({ filter: /^lit-html(\/|$)/ }, ({ path: name }) => ({
      path: path.join(root, "node_modules", name === "lit-html" ? "lit-html/lit-html.js" : name),
    })),
  }],
  sourcemap: "inline",
  logLevel: "warning",
});
const files = tests.map((file) => path.join(out, file.replace(/\.ts$/, ".mjs")));
const ran = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { stdio: "inherit" });
process.exit(ran.status ?? 1);
