// What is kept over a reload of the page.
import { TABS } from "./messages.ts";
import { INITIAL, type State } from "./state.ts";

/** The path, function and signature are read by the extension when it restores the panel. */
export interface Saved {
  readonly path?: string | undefined;
  readonly function?: string | undefined;
  readonly signature: string;
  readonly tab: State["tab"];
  readonly pinned: boolean;
  readonly form: State["form"];
  readonly compare: State["compare"];
  readonly code: State["code"];
  readonly sort: State["sort"];
  readonly kept: State["kept"];
  readonly scrollTop: number;
}

export function toSave(state: State): Saved {
  const { model, signature, tab, pinned, form, compare, code, sort, kept, size } = state;
  return { path: model?.path, function: model?.function, signature, tab, pinned, form, compare, code, sort, kept, scrollTop: size.scrollTop };
}

/** The first state of the page. What was saved comes from an older page, so nothing in it is taken for granted. */
export function restored(saved: unknown): State {
  if (typeof saved !== "object" || saved === null) return INITIAL;
  const old = saved as Partial<Saved>;
  const tab = TABS.find((one) => one === old.tab) ?? INITIAL.tab;
  return {
    ...INITIAL,
    signature: typeof old.signature === "string" ? old.signature : "",
    tab,
    pinned: old.pinned === true,
    form: old.form === "hoisted" ? "hoisted" : "captured",
    compare: old.compare === "captured" || old.compare === "hoisted" ? old.compare : "both",
    code: { ...INITIAL.code, ...old.code },
    sort: { ...INITIAL.sort, ...old.sort },
    kept: Array.isArray(old.kept) ? old.kept : [],
    size: { ...INITIAL.size, scrollTop: typeof old.scrollTop === "number" ? old.scrollTop : 0 },
  };
}
