// Which Python is used: the own setting, then what the Python extension selects, then `.venv`, then python3.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

const run = promisify(execFile);

export interface Interpreter {
  readonly path: string;
  /** Where it was found, for the log. */
  readonly source: string;
}

/** The interpreter for a folder. In Restricted Mode neither `.venv` nor a workspace's setting is used. */
export async function findInterpreter(folder: vscode.WorkspaceFolder | undefined): Promise<Interpreter> {
  const setting = vscode.workspace.getConfiguration("jaxscope", folder).get<string>("interpreter", "").trim();
  if (setting) return { path: resolveSetting(setting, folder), source: "jaxscope.interpreter" };
  const selected = await fromPythonExtension(folder);
  if (selected) return { path: selected, source: "the Python extension" };
  const environment = folder && vscode.workspace.isTrusted ? environmentOf(folder.uri.fsPath) : undefined;
  if (environment) return { path: environment, source: ".venv" };
  return { path: process.platform === "win32" ? "python" : "python3", source: "PATH" };
}

function resolveSetting(setting: string, folder: vscode.WorkspaceFolder | undefined): string {
  const root = folder?.uri.fsPath ?? "";
  const expanded = setting.replaceAll("${workspaceFolder}", root).replace(/^~(?=[/\\])/, process.env["HOME"] ?? "~");
  const isName = !expanded.includes("/") && !expanded.includes("\\");
  return isName || path.isAbsolute(expanded) ? expanded : path.join(root, expanded);
}

/** The interpreter of a virtual environment in the folder itself. */
export function environmentOf(root: string): string | undefined {
  const inside = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  return [".venv", "venv"].map((name) => path.join(root, name, ...inside)).find((file) => existsSync(file));
}

async function fromPythonExtension(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
  if (!vscode.extensions.getExtension("ms-python.python")) return undefined;
  try {
    const api = await PythonExtension.api();
    const active = api.environments.getActiveEnvironmentPath(folder?.uri);
    const resolved = await api.environments.resolveEnvironment(active);
    return resolved?.executable.uri?.fsPath;
  } catch {
    return undefined; // an extension that fails to start must not take this one along
  }
}

/** Calls `listener` when the Python extension's selection changes. */
export async function onDidChangeSelection(listener: () => void): Promise<vscode.Disposable | undefined> {
  if (!vscode.extensions.getExtension("ms-python.python")) return undefined;
  try {
    return (await PythonExtension.api()).environments.onDidChangeActiveEnvironmentPath(listener);
  } catch {
    return undefined;
  }
}

/** Why `interpreter` cannot run the server, in a sentence for the user; undefined when it can. */
export async function problemWith(interpreter: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(interpreter, ["-I", "-c", "import sys; print(*sys.version_info[:2])"], { timeout: 20_000 });
    return tooOld(interpreter, stdout);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : "it does not start";
    return `${interpreter} cannot be used as the interpreter: ${reason}.`;
  }
}

/** The sentence for a Python older than 3.10, from the printed version `3 9`. */
export function tooOld(interpreter: string, printed: string): string | undefined {
  const [major = 0, minor = 0] = printed.trim().split(" ").map(Number);
  if (major > 3 || (major === 3 && minor >= 10)) return undefined;
  return `${interpreter} is Python ${major}.${minor}; jaxscope needs 3.10 or newer.`;
}
