// Starts the page: state in, page out, messages both ways.
import { render } from "lit-html";
import { ROW_HEIGHT } from "./code/rows.ts";
import { messagesFor } from "./effects.ts";
import type { FromPanel, ToPanel } from "./messages.ts";
import { restored, toSave } from "./saved.ts";
import { reduce, type Change, type State } from "./state.ts";
import { rowsShown } from "./views/stablehlo.ts";
import { page } from "./views/page.ts";
import "./styles/panel.css";

interface Host {
  postMessage(message: FromPanel): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): Host;

const HOVER_RESTS_MS = 50;
const TICK_MS = 100;

const host = acquireVsCodeApi();
const root = document.getElementById("panel") ?? document.body;
let state = restored(host.getState());
let frame: number | undefined;
let hover: ReturnType<typeof setTimeout> | undefined;
let scrollRestored = false;

const post = (message: FromPanel): void => host.postMessage(message);

function send(change: Change): void {
  clearTimeout(hover);
  if (change.type === "pass" && change.place !== state.passing) {
    hover = setTimeout(() => apply(change), HOVER_RESTS_MS);
    return;
  }
  apply(change);
}

function apply(change: Change): void {
  const before = state;
  state = reduce(state, change);
  if (state === before) return;
  for (const message of messagesFor(before, state)) post(message);
  draw();
  if (state.code.reveals !== before.code.reveals) requestAnimationFrame(bringIntoSight);
}

/** Draws once a frame, however many changes came. */
function draw(): void {
  frame ??= requestAnimationFrame(drawNow);
}

function drawNow(): void {
  if (frame !== undefined) cancelAnimationFrame(frame);
  frame = undefined;
  render(page({ state, send, post }), root);
  host.setState(toSave(state));
  measure();
}

/** What a person does acts on the state that the page shows, so a frame that is still to come is drawn first. */
function catchUp(): void {
  if (frame !== undefined) drawNow();
}

/** Rows need their container's height; until it is there, a guess is drawn. */
function measure(): void {
  const rows = root.querySelector<HTMLElement>(".rows");
  const size: Partial<State["size"]> = { width: root.clientWidth, ...(rows ? { rowsHeight: rows.clientHeight } : {}) };
  if (size.width !== state.size.width || (size.rowsHeight ?? state.size.rowsHeight) !== state.size.rowsHeight) apply({ type: "size", size });
  if (rows && !scrollRestored) {
    scrollRestored = true;
    rows.scrollTop = state.size.scrollTop;
  } else if (rows && rows.scrollTop !== state.size.scrollTop) {
    apply({ type: "size", size: { scrollTop: rows.scrollTop } });
  }
}

function bringIntoSight(): void {
  const rows = root.querySelector<HTMLElement>(".rows");
  const program = state.programs[state.form];
  if (!rows || !program) return;
  const top = rowsShown(state, program).indexOf(state.code.cursor) * ROW_HEIGHT;
  if (top < 0) return;
  if (top < rows.scrollTop) rows.scrollTop = top;
  else if (top > rows.scrollTop + rows.clientHeight - ROW_HEIGHT) rows.scrollTop = top - rows.clientHeight + ROW_HEIGHT;
}

function key(event: KeyboardEvent): void {
  if (event.key === "Escape") return escape();
  if (event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).matches("input, select")) return;
  if (event.key === "p" || event.key === "P") send({ type: "pin" });
  if (event.key === "r" || event.key === "R") post({ type: "refresh" });
}

/** Stops the work, else clears the light, else goes back to the editor. */
function escape(): void {
  if (Object.keys(state.work).length > 0 || state.model?.state === "running") post({ type: "cancel" });
  else if (state.kept.length > 0) send({ type: "keep", places: [] });
  else post({ type: "do", action: "focusEditor" });
}

window.addEventListener("message", (event: MessageEvent<ToPanel>) => apply({ type: "message", message: event.data, now: Date.now() }));
for (const act of ["keydown", "click"]) window.addEventListener(act, catchUp, { capture: true });
window.addEventListener("keydown", key);
new ResizeObserver(measure).observe(root);
setInterval(() => {
  if (Object.keys(state.work).length > 0) apply({ type: "tick", now: Date.now() });
}, TICK_MS);
draw();
post({ type: "ready", pinned: state.pinned });
