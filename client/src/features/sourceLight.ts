// The panel's light in the source: lines that the row under the pointer comes from, and a bar for each mapped line.
import * as vscode from "vscode";
import type { MappedLine } from "../../webview/messages.ts";
import type { SourceLine } from "../protocol.generated.ts";

const HUES = ["charts.blue", "charts.purple", "charts.green", "terminal.ansiCyan"];

/** Draws lights into every visible editor, also into those that become visible later. */
export class SourceLight implements vscode.Disposable {
  private readonly lit = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.selectionHighlightBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.selectionHighlightForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
  });
  private readonly bars = HUES.map((hue) =>
    vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      borderColor: new vscode.ThemeColor(hue),
      borderStyle: "solid",
      borderWidth: "0 0 0 3px",
    }),
  );
  private readonly editors = vscode.window.onDidChangeVisibleTextEditors(() => this.draw());
  private kept: readonly SourceLine[] = [];
  private passing: readonly SourceLine[] = [];
  private mapped: readonly MappedLine[] = [];

  /** Lights lines while the pointer rests on a row of the panel. */
  hover(place: SourceLine | null): void {
    this.passing = place ? [place] : [];
    this.draw();
  }

  /** Lights lines until the next call. */
  keep(places: readonly SourceLine[]): void {
    this.kept = places;
    this.draw();
  }

  /** Marks the lines that the shown program maps to; none when no program is shown. */
  map(lines: readonly MappedLine[]): void {
    this.mapped = lines;
    this.draw();
  }

  clear(): void {
    this.kept = [];
    this.passing = [];
    this.mapped = [];
    this.draw();
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const here = <T extends SourceLine>(places: readonly T[]): T[] => places.filter((place) => isIn(editor, place));
      const ranges = (places: readonly SourceLine[]) => here(places).map((place) => lineRange(place.line));
      editor.setDecorations(this.lit, ranges([...this.kept, ...this.passing]));
      this.bars.forEach((bar, hue) => editor.setDecorations(bar, ranges(here(this.mapped).filter((line) => line.hue === hue))));
    }
  }

  dispose(): void {
    for (const one of [this.lit, ...this.bars, this.editors]) one.dispose();
  }
}

function isIn(editor: vscode.TextEditor, place: SourceLine): boolean {
  const { uri } = editor.document;
  return uri.scheme === "file" && uri.fsPath === vscode.Uri.file(place.path).fsPath;
}

export function lineRange(line: number): vscode.Range {
  return new vscode.Range(line - 1, 0, line - 1, 0);
}

/** Brings a line into sight in the editor that shows its file, or in the first column. */
export async function reveal(place: SourceLine, focus: boolean): Promise<void> {
  const shown = vscode.window.visibleTextEditors.find((editor) => isIn(editor, place));
  const options = { viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One, preserveFocus: !focus };
  const editor = shown && !focus ? shown : await vscode.window.showTextDocument(vscode.Uri.file(place.path), options);
  if (focus) editor.selection = new vscode.Selection(lineRange(place.line).start, lineRange(place.line).start);
  editor.revealRange(lineRange(place.line), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
