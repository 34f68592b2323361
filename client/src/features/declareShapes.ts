// Inserts a `# jaxscope:` comment above a function, with a placeholder for each parameter.
import * as vscode from "vscode";
import type { PanelModel } from "../protocol.generated.ts";

/** A comment that is there already, above the decorators or the def. */
const DECLARED = /^\s*#\s*jaxscope:(?!\s*ignore)/;

/** Shows the function and puts the cursor into its declaration, which is inserted when there is none. */
export async function declareShapes(uri: vscode.Uri, model: PanelModel): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document, { viewColumn: columnOf(uri), preview: false });
  const def = Math.min(Math.max(model.line - 1, 0), document.lineCount - 1);
  const top = firstDecorator(document, def);
  if (top > 0 && DECLARED.test(document.lineAt(top - 1).text)) {
    editor.selection = new vscode.Selection(top - 1, document.lineAt(top - 1).text.length, top - 1, document.lineAt(top - 1).text.length);
    return;
  }
  const indent = document.lineAt(top).text.match(/^\s*/)?.[0] ?? "";
  const known = model.signatures.find(({ id }) => id === model.signature);
  const shapes = known?.parameters.map(([, type]) => type) ?? parameterCount(document, def).map(() => "f32[]");
  const body = shapes.map((shape, index) => `\${${index + 1}:${shape.replace(/[\\$}]/g, "\\$&")}}`).join(", ");
  const snippet = new vscode.SnippetString(`${indent}# jaxscope: ${body || "$1"}\n`);
  await editor.insertSnippet(snippet, new vscode.Position(top, 0), { undoStopBefore: true, undoStopAfter: true });
}

function columnOf(uri: vscode.Uri): vscode.ViewColumn {
  const shown = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
  return shown?.viewColumn ?? vscode.ViewColumn.One;
}

function firstDecorator(document: vscode.TextDocument, def: number): number {
  let line = def;
  while (line > 0 && /^\s*@/.test(document.lineAt(line - 1).text)) line -= 1;
  return line;
}

/** Names of the parameters of a def on one line, `self` left out; none where that cannot be told. */
export function parameterNames(line: string): string[] {
  const inside = /^\s*(?:async\s+)?def\s+\w+\s*\(([^()]*)\)/.exec(line)?.[1] ?? "";
  return inside
    .split(",")
    .map((part) => part.split(/[:=]/)[0]?.trim() ?? "")
    .filter((name) => /^[A-Za-z_]\w*$/.test(name) && name !== "self" && name !== "cls");
}

function parameterCount(document: vscode.TextDocument, def: number): string[] {
  return parameterNames(document.lineAt(def).text);
}
