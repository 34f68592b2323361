// How far the work is, in the words of the panel.
import type { State } from "./state.ts";

export type StageName = "trace" | "lower" | "compile" | "run";

/** Before this, nothing is said of running work: most of it is done by then. */
export const QUIET_MS = 300;

/** The server's words for a stage. */
const WORDS: Readonly<Record<string, StageName>> = {
  importing: "trace",
  tracing: "trace",
  trace: "trace",
  lowering: "lower",
  lower: "lower",
  compiling: "compile",
  compile: "compile",
  running: "run",
  run: "run",
};

const PARTICIPLES: Readonly<Record<StageName, string>> = { trace: "Tracing", lower: "Lowering", compile: "Compiling", run: "Running" };

/** When the work that is worth mentioning started; undefined when there is none. */
export function workSince(state: State): number | undefined {
  const since = Math.min(...Object.values(state.work));
  return Number.isFinite(since) && state.now - since >= QUIET_MS ? since : undefined;
}

/** The stage that runs now; undefined as long as it is not known. */
export function activeStage(state: State): StageName | undefined {
  if (workSince(state) === undefined) return undefined;
  const told = state.progress ? WORDS[state.progress.stage] : undefined;
  return told ?? (state.work.time === undefined ? "lower" : undefined);
}

/** `Compiling` */
export const participle = (stage: StageName | undefined): string => (stage ? PARTICIPLES[stage] : "Timing");

export const STAGES: readonly StageName[] = ["trace", "lower", "compile", "run"];
