// Tells the server when the folder becomes trusted. Until then it runs no code.
import * as vscode from "vscode";
import type { Server } from "../client.ts";

export function registerTrust(server: Server): vscode.Disposable {
  return vscode.workspace.onDidGrantWorkspaceTrust(async () => {
    await server.interpreterChanged(); // .venv and the workspace's settings count from now on
    await server.sendSettings();
    await (await server.connected()).sendNotification("jaxscope/trusted", {});
  });
}
