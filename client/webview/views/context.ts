// What every view gets: the state, and the two ways to make something happen.
import type { FromPanel } from "../messages.ts";
import type { Change, State } from "../state.ts";

export interface Context {
  readonly state: State;
  /** Changes the state of the page. */
  readonly send: (change: Change) => void;
  /** Tells the extension. */
  readonly post: (message: FromPanel) => void;
}
