// What the panel's buttons do that need no answer in the page.
import * as vscode from "vscode";
import type { Action } from "../../webview/messages.ts";
import type { Server } from "../client.ts";
import type { PanelModel } from "../protocol.generated.ts";
import { declareShapes } from "./declareShapes.ts";
import type { Documents } from "./documents.ts";

export interface Surroundings {
  readonly model: PanelModel | undefined;
  readonly uri: string | undefined;
  readonly server: Server;
  readonly documents: Documents;
}

const WHAT_RUNS = `Your file is imported in a separate process, with your interpreter, to see the programs that JAX makes of its functions. \
It is never run as the main program.

While it is imported and traced, writing outside temp and cache folders, starting processes and opening connections are blocked. \
This stops accidents, not malice.`;

export async function act(action: Action, { model, uri, server, documents }: Surroundings): Promise<void> {
  const command = (name: string, ...rest: unknown[]) => vscode.commands.executeCommand(name, ...rest);
  switch (action) {
    case "changePolicy":
      return void (await command("jaxscope.changeTracePolicy"));
    case "declareShapes":
      if (model && uri !== undefined) await declareShapes(vscode.Uri.parse(uri), model);
      return;
    case "focusEditor":
      return void (await command("workbench.action.focusFirstEditorGroup"));
    case "manageTrust":
      return void (await command("workbench.trust.manage"));
    case "openSettings":
      return void (await command("workbench.action.openSettings", "@ext:jaxscope.jaxscope"));
    case "record":
      return void (await command("jaxscope.record", uri, model?.function));
    case "restart":
      return void (await command("jaxscope.restart"));
    case "selectInterpreter":
      return void (await command("jaxscope.selectInterpreter"));
    case "showLog":
      return server.log.show();
    case "showTraceback":
      if (model?.failed) await documents.open(`${model.function}-traceback.txt`, model.failed.traceback);
      return;
    case "whatRuns":
      return void (await vscode.window.showInformationMessage("What jaxscope runs", { modal: true, detail: WHAT_RUNS }));
  }
}
