// Times a function with a progress notification that can be cancelled.
import * as vscode from "vscode";
import type { Form } from "../../webview/messages.ts";
import type { Server } from "../client.ts";
import type { StageProgress, Timings } from "../protocol.generated.ts";
import { time } from "../requests.ts";

const SHOW_AFTER_MS = 1000;

/** Asks for timings. VS Code's progress shows after a second; `token` or its button cancels. */
export async function timeFunction(
  server: Server,
  uri: string,
  name: string,
  forms: readonly Form[],
  token: vscode.CancellationToken,
): Promise<Timings> {
  const cancel = new vscode.CancellationTokenSource();
  const linked = token.onCancellationRequested(() => cancel.cancel());
  const work = time(await server.connected(), uri, name, forms, cancel.token);
  const timer = setTimeout(() => showProgress(server, name, work, cancel), SHOW_AFTER_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    linked.dispose();
    cancel.dispose();
  }
}

function showProgress(server: Server, name: string, work: Promise<unknown>, cancel: vscode.CancellationTokenSource): void {
  const options = { location: vscode.ProgressLocation.Notification, title: `Timing ${name}`, cancellable: true };
  void vscode.window.withProgress(options, async (progress, pressed) => {
    const button = pressed.onCancellationRequested(() => cancel.cancel());
    const stages = server.onStage((stage) => progress.report({ message: describe(stage) }));
    await work.catch(() => undefined);
    stages.dispose();
    button.dispose();
  });
}

function describe(stage: StageProgress): string {
  return stage.detail ? `${stage.stage}: ${stage.detail}` : stage.stage;
}
