// What the page tells the extension because its state has changed. Pure.
import { mappedLines } from "./code/rows.ts";
import type { FromPanel } from "./messages.ts";
import type { State } from "./state.ts";

export function messagesFor(before: State, after: State): FromPanel[] {
  const messages: FromPanel[] = [];
  if (after.pinned !== before.pinned) messages.push({ type: "pin", pinned: after.pinned });
  if (after.signature !== before.signature) messages.push({ type: "signature", signature: after.signature });
  if (after.passing !== before.passing) messages.push({ type: "hover", place: after.passing });
  if (after.kept !== before.kept && after.kept.length + before.kept.length > 0) messages.push({ type: "light", places: after.kept });
  if (hueSource(after) !== hueSource(before)) {
    const program = hueSource(after);
    messages.push({ type: "hues", lines: program ? mappedLines(program) : [] });
  }
  const same = before.model?.function === after.model?.function && before.model?.signature === after.model?.signature;
  const asked = wantsProgram(before) && before.form === after.form && same;
  if (wantsProgram(after) && !asked) messages.push({ type: "program", form: after.form });
  if (wantsConstants(after) && !(wantsConstants(before) && same)) messages.push({ type: "constants" });
  return messages;
}

/** Lines are marked in the editor only while a program is in sight. */
const hueSource = (state: State) => (state.model?.state === "ready" && state.tab === "stablehlo" ? state.programs[state.form] : undefined);

const hasProgram = ({ model }: State): boolean => model?.state === "ready" && !model.onlyRecorded;

/** Lowering for the Constants tab starts when it is opened; after a failure that is the user's decision. */
const wantsConstants = (state: State): boolean =>
  state.tab === "constants" &&
  hasProgram(state) &&
  !state.lowered &&
  state.work.constants === undefined &&
  state.ended.constants === undefined;

/** Is the program's text to be asked for? Not again after a failure: that is the user's decision. */
const wantsProgram = (state: State): boolean =>
  state.tab === "stablehlo" &&
  hasProgram(state) &&
  !state.programs[state.form] &&
  state.work.program === undefined &&
  state.ended.program === undefined;
