// The user's settings as the server wants them: only what is set, so that pyproject.toml counts where nothing is.
import * as vscode from "vscode";

export type Settings = Record<string, unknown>;

interface PackageJson {
  readonly contributes: { readonly configuration: { readonly properties: Record<string, unknown> } };
}

/** Every key of the extension's settings, without the leading `jaxscope.`. */
function keys(context: vscode.ExtensionContext): string[] {
  const manifest = context.extension.packageJSON as PackageJson;
  return Object.keys(manifest.contributes.configuration.properties).map((key) => key.replace(/^jaxscope\./, ""));
}

/** The settings that hold in `folder`, nested as `{trace: {when: "onSave"}}`; `interpreter` is the one to use. */
export function readSettings(
  context: vscode.ExtensionContext,
  folder: vscode.WorkspaceFolder | undefined,
  interpreter: string,
): Settings {
  const configuration = vscode.workspace.getConfiguration("jaxscope", folder);
  const settings: Settings = {};
  for (const key of keys(context)) {
    const inspected = configuration.inspect(key);
    const value = key === "trace.when" ? allowed(inspected) : isSet(inspected) ? configuration.get(key) : undefined;
    if (value !== undefined) nest(settings, key.split("."), value);
  }
  settings["interpreter"] = interpreter;
  return settings;
}

function isSet(inspected: ReturnType<vscode.WorkspaceConfiguration["inspect"]>): boolean {
  return (
    inspected?.globalValue !== undefined ||
    inspected?.workspaceValue !== undefined ||
    inspected?.workspaceFolderValue !== undefined
  );
}

/** When code may be run: the user's own word stands for consent, a folder's settings can only forbid it. */
function allowed(inspected: ReturnType<vscode.WorkspaceConfiguration["inspect"]>): unknown {
  const folder = inspected?.workspaceFolderValue ?? inspected?.workspaceValue;
  return folder === "off" ? folder : inspected?.globalValue;
}

/** Puts `value` at `path` into `target`, making tables on the way. */
export function nest(target: Settings, path: readonly string[], value: unknown): void {
  const [head, ...rest] = path;
  if (head === undefined) return;
  if (rest.length === 0) {
    target[head] = value;
    return;
  }
  const inner = (target[head] ??= {}) as Settings;
  nest(inner, rest, value);
}
