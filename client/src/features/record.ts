// Records a run of the user's own program, in a terminal, as they would run it themselves. The server sees what it writes.
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Server } from "../client.ts";
import { launched, nameIn, tests, titleOf, words, type Launch, type Program } from "./programs.ts";

const LAST = "record.last";

interface Choice extends vscode.QuickPickItem {
  readonly program?: Program;
  /** Are arguments to be asked for first? */
  readonly asks?: boolean;
}

export class Recorder {
  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {}

  /** Asks what to run while this file is open, and runs it. */
  async choose(uri: vscode.Uri): Promise<void> {
    if (!vscode.workspace.isTrusted) return refuse();
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    const title = "Record a run: your program runs as it is, and what JAX traces in it is kept";
    const picked = await vscode.window.showQuickPick(this.choices(uri, folder), { title, placeHolder: "What is to be run?" });
    if (picked?.program) await this.run(picked.asks ? await this.withArguments(picked.program) : picked.program, folder);
  }

  private choices(uri: vscode.Uri, folder: vscode.WorkspaceFolder | undefined): Choice[] {
    const file = uri.fsPath;
    const cwd = workingFolder(uri, folder);
    const program: Program = { command: [nameIn(cwd, file)], cwd, env: {} };
    const test: Program = { command: tests(cwd, file), cwd, env: {} };
    const last = this.context.workspaceState.get<Program>(LAST);
    return [
      ...(last ? [{ label: `$(history) ${titleOf(last)}`, description: "again", program: last }] : []),
      { label: `$(file-code) ${titleOf(program)}`, description: "this file", program },
      { label: `$(edit) ${titleOf(program)} …`, description: "this file with arguments", program, asks: true },
      { label: `$(beaker) ${titleOf(test)}`, description: test.command.length > 2 ? "the tests of this file" : "all tests", program: test },
      ...configured(folder),
    ];
  }

  private async withArguments(program: Program): Promise<Program | undefined> {
    const key = `record.arguments:${program.command[0] ?? ""}`;
    const value = this.context.workspaceState.get(key, "");
    const given = await vscode.window.showInputBox({ title: `Arguments of ${titleOf(program)}`, value, placeHolder: "--steps 3" });
    if (given === undefined) return undefined;
    await this.context.workspaceState.update(key, given);
    return { ...program, command: [...program.command, ...words(given)] };
  }

  private async run(program: Program | undefined, folder: vscode.WorkspaceFolder | undefined): Promise<void> {
    if (!program) return;
    await vscode.workspace.saveAll(false);
    await this.context.workspaceState.update(LAST, program);
    const { command, args } = await this.server.recorder(program.command, program.python);
    const execution = new vscode.ProcessExecution(command, args, { cwd: program.cwd, env: { ...program.env } });
    const scope = folder ?? vscode.TaskScope.Global;
    const task = new vscode.Task({ type: "jaxscope", command: titleOf(program) }, scope, "jaxscope record", "jaxscope", execution, []);
    task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Dedicated, clear: true };
    await vscode.tasks.executeTask(task);
  }
}

async function refuse(): Promise<void> {
  const manage = "Manage workspace trust";
  const picked = await vscode.window.showWarningMessage("Restricted Mode: your code is not run.", manage);
  if (picked === manage) await vscode.commands.executeCommand("workbench.trust.manage");
}

/** Where the Python extension would run the file. */
function workingFolder(uri: vscode.Uri, folder: vscode.WorkspaceFolder | undefined): string {
  const own = path.dirname(uri.fsPath);
  const inFileDir = vscode.workspace.getConfiguration("python.terminal", uri).get("executeInFileDir", false);
  return folder && !inFileDir ? folder.uri.fsPath : own;
}

/** What the folder's launch.json starts with Python. */
function configured(folder: vscode.WorkspaceFolder | undefined): Choice[] {
  const launches = vscode.workspace.getConfiguration("launch", folder).get<Launch[]>("configurations") ?? [];
  const read = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : undefined);
  const found = launches.flatMap((launch): Choice[] => {
    const program = folder && launched(launch, folder.uri.fsPath, read);
    return program ? [{ label: `$(debug) ${String(launch.name)}`, description: titleOf(program).replaceAll("${workspaceFolder}/", ""), program }] : [];
  });
  return found.length > 0 ? [{ label: "launch.json", kind: vscode.QuickPickItemKind.Separator }, ...found] : [];
}
