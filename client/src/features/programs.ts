// Programs that can be recorded, each as one would run it by hand.
import * as path from "node:path";

export interface Program {
  /** As in a terminal: `train.py --steps 3`, `-m pytest tests/test_model.py`. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Other than the interpreter in use. */
  readonly python?: string;
}

/** A debug configuration of launch.json, as far as it matters here. */
export interface Launch {
  readonly type?: unknown;
  readonly request?: unknown;
  readonly name?: unknown;
  readonly program?: unknown;
  readonly module?: unknown;
  readonly args?: unknown;
  readonly cwd?: unknown;
  readonly env?: unknown;
  readonly envFile?: unknown;
  readonly python?: unknown;
}

export const titleOf = ({ command }: Program): string =>
  command.map((word) => (/^[\w@%+=:,./\\${}-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");

/** A file as a terminal in `cwd` would name it. */
export function nameIn(cwd: string, file: string): string {
  const relative = path.relative(cwd, file);
  return relative.startsWith("..") || path.isAbsolute(relative) ? file : relative;
}

/** What pytest is to run while this file is open: its own tests, or all there are. */
export function tests(cwd: string, file: string): readonly string[] {
  const isTest = /^test_.*\.py$|_test\.py$/.test(path.basename(file));
  return isTest ? ["-m", "pytest", nameIn(cwd, file)] : ["-m", "pytest"];
}

/** The words of a command line. Quotes hold words together; a backslash keeps the character after it. */
export function words(line: string, backslashes = process.platform !== "win32"): string[] {
  const found: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (character === "\\" && backslashes && quote !== "'" && at + 1 < line.length) word = (word ?? "") + line[++at];
    else if (quote) {
      if (character === quote) quote = "";
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  return word === undefined ? found : [...found, word];
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value ? value : undefined);

function variables(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).flatMap(([name, text]) => (text === null ? [] : [[name, String(text)]])));
}

/** The program that a configuration starts; undefined for one that attaches, or that is not Python's. */
export function launched(launch: Launch, folder: string, read: (file: string) => string | undefined): Program | undefined {
  const [program, module] = [textOf(launch.program), textOf(launch.module)];
  if ((launch.type !== "debugpy" && launch.type !== "python") || launch.request !== "launch") return undefined;
  if (program === undefined && module === undefined) return undefined;
  const args = typeof launch.args === "string" ? words(launch.args) : Array.isArray(launch.args) ? launch.args.map(String) : [];
  const file = (textOf(launch.envFile) ?? "${workspaceFolder}/.env").replaceAll("${workspaceFolder}", folder);
  const [python] = Array.isArray(launch.python) ? launch.python : [launch.python];
  return {
    command: program === undefined ? ["-m", module ?? "", ...args] : [program, ...args],
    cwd: textOf(launch.cwd) ?? folder,
    env: { ...environment(read(file) ?? ""), ...variables(launch.env) },
    ...(textOf(python) === undefined ? {} : { python: String(python) }),
  };
}

/** The variables of an `.env` file. */
export function environment(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const [, name, value = ""] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name !== undefined) found[name] = /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value.replace(/\s+#.*$/, "");
  }
  return found;
}
