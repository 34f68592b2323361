// The panel's page: one script and one stylesheet, nothing inline, nothing from elsewhere.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

export function pageOf(webview: vscode.Webview, extension: vscode.Uri): string {
  const script = webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", "webview.js"));
  const styles = webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", "webview.css"));
  return html(script.toString(), styles.toString(), webview.cspSource, randomBytes(16).toString("base64"));
}

/** The page's text. The browser test builds its page with this function too. */
export function html(script: string, styles: string, source: string, nonce: string): string {
  const policy = `default-src 'none'; style-src ${source}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${styles}">
<title>jaxscope</title>
</head>
<body>
<main id="panel"></main>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>
`;
}
