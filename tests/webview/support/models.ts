// Models as the server sends them, and what differs from them in other states.
import fs from "node:fs";
import path from "node:path";
import type { ConstantsLowered, PanelModel, ProgramText, Timings } from "../../../client/src/protocol.generated.ts";

const read = <T>(name: string): T => JSON.parse(fs.readFileSync(path.resolve("tests/webview/models", name), "utf8")) as T;

export const block: PanelModel = read("block-model.json");
export const program: ProgramText = read("block-program.json");
export const lowered: ConstantsLowered = read("block-constants.json");
export const timings: Timings = read("block-timings.json");

export const at = (line: number, file = block.path) => ({ path: file, line });

/** What an answer tells of: a function under the first signature of `block`. */
export const of = (name: string) => ({ function: name, signature: block.signature });

/** The same function under the other signature that the model knows; it captures two arrays less. */
export const other: PanelModel = { ...block, signature: block.signatures[1]!.id, constants: block.constants.slice(0, 3), findings: block.findings.slice(0, 3), jaxpr: { equations: 60, constants: 3, seconds: 0.01 }, timings: null };

/** `block` under shapes that were guessed. */
export const guessed: PanelModel = { ...block, signatures: [{ ...block.signatures[0]!, id: "guess", source: "guess", origin: "", calls: 1 }], signature: "guess" };

/** The model in a state in which nothing was traced. */
export function untraced(state: PanelModel["state"], message: string, more: Partial<PanelModel> = {}): PanelModel {
  const inferred = block.findings.slice(0, 2).map((finding) => ({ ...finding, evidence: "static" }));
  return { ...block, state, message, findings: inferred, refuted: [], signatures: [], signature: "", constants: [], jaxpr: null, tracedAt: null, ...more };
}

export const STATES: Readonly<Record<string, PanelModel>> = {
  nothing: untraced("no-shapes", "No shapes are known for `layer` yet. `layer` exists only while `roll` runs, so importing the file does not trace it. Choose one:", {
    function: "roll.<locals>.layer",
    line: 40,
    findings: [],
  }),
  guess: untraced("no-shapes", "No shapes are known for `block` yet. The file has not been traced. Choose one:", { offer: "guess", findings: [] }),
  choose: untraced("no-function", "Put the cursor in a traced function, or choose one:", { function: "", line: 0, python: null }),
  restricted: untraced(
    "restricted",
    "Restricted Mode: your code is not run. Findings from reading the source still work. Programs, shapes and timings need this folder to be trusted, because tracing imports your code.",
  ),
  consent: untraced("consent", "May jaxscope run code in this folder?"),
  tracing: untraced("running", "Tracing block 4.2 s"),
  failed: untraced("failed", "The trace failed on line 29", {
    failed: {
      path: block.path,
      line: 29,
      message: "TypeError: dot_general requires contracting dimensions to have the same shape, got (768,) and (512,).",
      source: [
        [28, "    h = x + POS[:S]"],
        [29, "    qkv = (norm(h) * gain) @ W_QKV"],
        [30, "    qkv = qkv.reshape(B, S, 3, H, D // H)"],
      ],
      traceback: 'Traceback (most recent call last):\n  File "block.py", line 29, in block\n',
      tried: "f32[4,256,768], f32[768] (guess)",
      guess: true,
    },
  }),
  stopped: untraced(
    "stopped",
    "The worker was stopped at 4.0 GiB (jaxscope.trace.memoryLimit). Your editor and findings are unaffected; a new worker is ready. Not retried by itself.",
    { stoppedLog: "slow_operation_alarm.cc:73] Constant folding an instruction is taking > 1s: %sort.12\nworker 4127: memory limit reached (4.0 GiB)\n" },
  ),
  nojax: untraced("no-jax", "No JAX in .venv/bin/python (3.11)."),
  stale: { ...block, staleLines: [29, 35] },
};
