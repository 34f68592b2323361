// The two status bar items: the state of the server's worker, and when code is run.
import * as vscode from "vscode";
import type { Status } from "./protocol.generated.ts";

const ICONS: Readonly<Partial<Record<Status["state"], string>>> = {
  starting: "$(sync~spin) ",
  busy: "$(sync~spin) ",
  stopped: "$(error) ",
  "no-jax": "$(warning) ",
};

/** Shows the server's status while a Python file is in sight. */
export class StatusBar implements vscode.Disposable {
  private readonly state = vscode.window.createStatusBarItem("jaxscope.state", vscode.StatusBarAlignment.Left, 20);
  private readonly policy = vscode.window.createStatusBarItem("jaxscope.policy", vscode.StatusBarAlignment.Left, 19);
  private readonly editors = vscode.window.onDidChangeActiveTextEditor(() => this.showOrHide());

  constructor() {
    this.state.name = "jaxscope";
    this.policy.name = "jaxscope: when code is run";
    this.state.command = "jaxscope.showMenu";
    this.policy.command = "jaxscope.changeTracePolicy";
    this.problem("starting");
  }

  update(status: Status): void {
    this.state.text = `${ICONS[status.state] ?? ""}jaxscope: ${status.text}`;
    this.state.tooltip = [status.detail, status.interpreter && `Python ${status.python} at ${status.interpreter}`]
      .filter(Boolean)
      .join("\n");
    this.state.accessibilityInformation = { label: `jaxscope: ${status.text}`, role: "button" };
    this.state.backgroundColor =
      status.state === "stopped" ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    this.policy.text = status.policy;
    this.showOrHide();
  }

  /** Shows a state that the server cannot tell, such as its own absence. */
  problem(text: string, detail = ""): void {
    this.state.text = `jaxscope: ${text}`;
    this.state.tooltip = detail;
    this.policy.text = "";
    this.showOrHide();
  }

  private showOrHide(): void {
    const wanted = vscode.window.visibleTextEditors.some((editor) => editor.document.languageId === "python");
    for (const item of [this.state, this.policy]) {
      if (wanted && item.text) item.show();
      else item.hide();
    }
  }

  dispose(): void {
    for (const one of [this.state, this.policy, this.editors]) one.dispose();
  }
}
