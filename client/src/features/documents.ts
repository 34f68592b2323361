// Texts from the server, opened as read-only documents.
import * as vscode from "vscode";

const SCHEME = "jaxscope";

/** Keeps the texts of the documents that it opened, until they are closed. */
export class Documents implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly registrations = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.workspace.onDidCloseTextDocument((document) => this.texts.delete(document.uri.toString())),
  ];

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  async open(name: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}`, query: String(Date.now()) });
    this.texts.set(uri.toString(), text);
    await vscode.window.showTextDocument(uri, { preview: true, viewColumn: vscode.ViewColumn.One });
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
  }
}
