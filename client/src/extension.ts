// Starts everything and ties it together.
import * as vscode from "vscode";
import { Server } from "./client.ts";
import { registerCommands } from "./commands.ts";
import { registerPanel } from "./features/panel.ts";
import { Recorder } from "./features/record.ts";
import { registerTrust } from "./features/trust.ts";
import { onDidChangeSelection } from "./python.ts";
import { StatusBar } from "./status.ts";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  server = new Server(context);
  const running = server;
  const status = new StatusBar();
  const panel = registerPanel(context, running);
  context.subscriptions.push(running, status, ...registerCommands(running, panel, new Recorder(context, running)), registerTrust(running));
  context.subscriptions.push(
    running.onStatus((told) => status.update(told)),
    running.onProblem((problem) => status.problem(problem ? "stopped" : "starting", problem)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("jaxscope.interpreter")) void running.interpreterChanged();
      else if (event.affectsConfiguration("jaxscope")) void running.sendSettings();
    }),
  );
  await running.restart();
  const selection = await onDidChangeSelection(() => void running.interpreterChanged());
  if (selection) context.subscriptions.push(selection);
}

export async function deactivate(): Promise<void> {
  await server?.shutDown();
}
