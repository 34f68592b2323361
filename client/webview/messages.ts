// What the extension and the panel's page say to each other. Types only: both sides import this file.
import type { ConstantsLowered, PanelModel, ProgramText, SourceLine, StageProgress, Timings } from "../src/protocol.generated.ts";

export const TABS = ["overview", "constants", "stablehlo", "timings"] as const;
export type Tab = (typeof TABS)[number];
export type Form = "captured" | "hoisted";
/** Work that the panel asks for and waits for. */
export type Work = "program" | "constants" | "time";
export type Consent = "onSave" | "manual" | "off";

/** Of what an answer tells. */
export interface Shown {
  readonly function: string;
  /** Id of its signature. */
  readonly signature: string;
}

/** From the extension to the page. */
export type ToPanel =
  | { readonly type: "model"; readonly model: PanelModel }
  | { readonly type: "show"; readonly tab: Tab }
  | { readonly type: "program"; readonly of: Shown; readonly form: Form; readonly program: ProgramText }
  | { readonly type: "constants"; readonly of: Shown; readonly lowered: ConstantsLowered }
  | { readonly type: "timings"; readonly of: Shown; readonly timings: Timings }
  | { readonly type: "started"; readonly work: Work }
  | { readonly type: "progress"; readonly progress: StageProgress }
  | { readonly type: "ended"; readonly work: Work; readonly message: string; readonly cancelled: boolean }
  | { readonly type: "cursor"; readonly place: SourceLine | null };

/** From the page to the extension. */
export type FromPanel =
  | { readonly type: "ready"; readonly pinned: boolean }
  | { readonly type: "goto"; readonly place: SourceLine }
  | { readonly type: "hover"; readonly place: SourceLine | null }
  | { readonly type: "light"; readonly places: readonly SourceLine[] }
  | { readonly type: "hues"; readonly lines: readonly MappedLine[] }
  | { readonly type: "pin"; readonly pinned: boolean }
  | { readonly type: "refresh" }
  | { readonly type: "choose"; readonly function: string }
  | { readonly type: "signature"; readonly signature: string }
  | { readonly type: "program"; readonly form: Form }
  | { readonly type: "constants" }
  | { readonly type: "time"; readonly forms: readonly Form[] }
  | { readonly type: "cancel" }
  | { readonly type: "fix"; readonly fixes: readonly FixRequest[] }
  | { readonly type: "document"; readonly name: string; readonly text: string }
  | { readonly type: "consent"; readonly answer: Consent }
  | { readonly type: "do"; readonly action: Action };

/** Things that the extension does by itself, with no answer to the page. */
export type Action =
  | "changePolicy"
  | "declareShapes"
  | "focusEditor"
  | "manageTrust"
  | "openSettings"
  | "record"
  | "restart"
  | "selectInterpreter"
  | "showLog"
  | "showTraceback"
  | "whatRuns";

/** Names one finding, as the server's fix command does. */
export interface FixRequest {
  readonly rule: string;
  readonly name: string;
  readonly line: number;
}

/** A source line that the shown program maps to, with its hue (0 to 3) for the bar in the editor's margin. */
export interface MappedLine extends SourceLine {
  readonly hue: number;
}
