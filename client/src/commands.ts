// The commands. Lenses, hovers, menus and the palette call them, so every argument may be missing.
import * as vscode from "vscode";
import { TABS, type Consent, type Tab } from "../webview/messages.ts";
import type { Server } from "./client.ts";
import { declareShapes } from "./features/declareShapes.ts";
import type { Panel } from "./features/panel.ts";
import type { Recorder } from "./features/record.ts";
import { consent, failureOf, fixAll, panelModel, restartWorkers, trace, type PanelParams } from "./requests.ts";

type Handler = (...args: unknown[]) => Promise<unknown> | unknown;

export function registerCommands(server: Server, panel: Panel, recorder: Recorder): vscode.Disposable[] {
  const handlers: Record<string, Handler> = {
    openPanel: (uri, name, tab) => panel.open(target(uri, name), asTab(tab)),
    time: (uri, name) => panel.time(target(uri, name), false),
    measure: (uri, name) => panel.time(target(uri, name), true),
    fixFile: async (uri) => fixAll(await server.connected(), target(uri).uri, false),
    fixProject: async (uri) => fixAll(await server.connected(), target(uri).uri, true),
    traceNow: async (uri) => trace(await server.connected(), target(uri).uri),
    declareShapes: (uri, name) => declare(server, target(uri, name)),
    record: (uri) => recorder.choose(vscode.Uri.parse(target(uri).uri)),
    changeTracePolicy: () => changePolicy(server),
    selectInterpreter: () => selectInterpreter(),
    restart: () => restart(server),
    showLog: () => server.log.show(),
    showMenu: () => showMenu(server),
  };
  return Object.entries(handlers).map(([name, handler]) =>
    vscode.commands.registerCommand(`jaxscope.${name}`, (...args: unknown[]) => guarded(handler, args)),
  );
}

async function guarded(handler: Handler, args: readonly unknown[]): Promise<void> {
  try {
    await handler(...args);
  } catch (error) {
    const failure = failureOf(error);
    if (!failure.cancelled) void vscode.window.showErrorMessage(failure.message);
  }
}

/** Where a command is to work. Without a function the server takes the one at the cursor. */
function target(uri: unknown, name?: unknown): PanelParams {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors.find((one) => one.document.languageId === "python");
  if (typeof uri === "string" && typeof name === "string") return { uri, function: name };
  const address = typeof uri === "string" ? uri : uri instanceof vscode.Uri ? uri.toString() : editor?.document.uri.toString();
  if (address === undefined) throw new Error("Open a Python file first.");
  if (editor?.document.uri.toString() !== address) return { uri: address };
  return { uri: address, position: editor.selection.active };
}

function asTab(value: unknown): Tab | undefined {
  return TABS.find((tab) => tab === value);
}

async function declare(server: Server, where: PanelParams): Promise<void> {
  const model = await panelModel(await server.connected(), where);
  if (!model.function) throw new Error("Put the cursor in a traced function first.");
  await declareShapes(vscode.Uri.parse(where.uri), model);
}

async function changePolicy(server: Server): Promise<void> {
  const choices: (vscode.QuickPickItem & { answer: Consent })[] = [
    { label: "When I save", description: "each file is traced when it is saved", answer: "onSave" },
    { label: "Only when I ask", description: "by Trace This File Now, or the panel", answer: "manual" },
    { label: "Never here", description: "findings come from reading the source", answer: "off" },
  ];
  const picked = await vscode.window.showQuickPick(choices, { title: "When may jaxscope run code in this folder?" });
  const document = vscode.window.activeTextEditor?.document;
  const uri = document?.languageId === "python" && document.uri.scheme === "file" ? document.uri.toString() : undefined;
  if (picked) await consent(await server.connected(), picked.answer, uri);
}

async function selectInterpreter(): Promise<void> {
  const own = vscode.workspace.getConfiguration("jaxscope").inspect<string>("interpreter");
  const isOwn = Boolean(own?.globalValue ?? own?.workspaceValue ?? own?.workspaceFolderValue);
  if (!isOwn && vscode.extensions.getExtension("ms-python.python")) {
    await vscode.commands.executeCommand("python.setInterpreter");
    return;
  }
  await vscode.commands.executeCommand("workbench.action.openSettings", "jaxscope.interpreter");
}

async function restart(server: Server): Promise<void> {
  try {
    await restartWorkers(server.connection);
  } catch (error) {
    server.log.warn(failureOf(error).message);
    await server.restart();
  }
}

async function showMenu(server: Server): Promise<void> {
  const entries = [
    { label: "Select interpreter", command: "jaxscope.selectInterpreter" },
    { label: "Change when code is run", command: "jaxscope.changeTracePolicy" },
    { label: "Restart", command: "jaxscope.restart" },
    { label: "Show log", command: "jaxscope.showLog" },
  ];
  const picked = await vscode.window.showQuickPick(entries, { title: "jaxscope" });
  if (picked?.command === "jaxscope.showLog") server.log.show();
  else if (picked) await vscode.commands.executeCommand(picked.command);
}
