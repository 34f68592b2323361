// Builds the extension (dist/extension.js) and the panel's page (dist/webview.js, dist/webview.css).
// `--minify` is for packing, `--watch` for development.
import { build, context } from "esbuild";

const flags = new Set(process.argv.slice(2));
const shared = { bundle: true, minify: flags.has("--minify"), sourcemap: flags.has("--minify") ? false : "linked", logLevel: "warning" };

const bundles = [
  {
    ...shared,
    entryPoints: { extension: "client/src/extension.ts" },
    outdir: "dist",
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    mainFields: ["module", "main"],
  },
  {
    ...shared,
    entryPoints: { webview: "client/webview/main.ts" },
    outdir: "dist",
    platform: "browser",
    format: "iife",
    target: "chrome122",
  },
];

if (flags.has("--watch")) {
  for (const bundle of bundles) await (await context(bundle)).watch();
} else {
  await Promise.all(bundles.map((bundle) => build(bundle)));
}
