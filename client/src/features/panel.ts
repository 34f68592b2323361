// The panel beside the editor: which function it shows, and the answers to what its page asks for.
import * as vscode from "vscode";
import type { FixRequest, Form, FromPanel, Shown, Tab, ToPanel, Work } from "../../webview/messages.ts";
import type { Server } from "../client.ts";
import type { PanelModel } from "../protocol.generated.ts";
import { applyFix, cancel, consent, constants, failureOf, panelModel, program, time, trace, type PanelParams } from "../requests.ts";
import { act } from "./panelActions.ts";
import { Documents } from "./documents.ts";
import { pageOf } from "./panelPage.ts";
import { reveal, SourceLight } from "./sourceLight.ts";

const VIEW_TYPE = "jaxscope.panel";
const CURSOR_RESTS_MS = 150;
const EDIT_RESTS_MS = 300;

/** What the page keeps over a reload of the window. */
interface Saved {
  readonly path?: string;
  readonly function?: string;
  readonly signature?: string;
}

export class Panel implements vscode.Disposable {
  private readonly light = new SourceLight();
  private readonly documents = new Documents();
  private readonly subscriptions: vscode.Disposable[] = [this.light, this.documents];
  private readonly work = new Map<Work, vscode.CancellationTokenSource>();
  private view: vscode.WebviewPanel | undefined;
  private uri: string | undefined;
  private model: PanelModel | undefined;
  private waiting: ToPanel[] = [];
  private ready = false;
  private pinned = false;
  /** The signature that was chosen in the page. */
  private signature = "";
  private latest = 0;
  private readonly rests = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.subscriptions.push(
      vscode.window.onDidChangeTextEditorSelection((event) => this.cursorMoved(event.textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => editor && this.cursorMoved(editor)),
      vscode.workspace.onDidChangeTextDocument((event) => this.edited(event.document)),
      server.onDidTrace((uri) => this.sameFile(uri) && this.reload()),
      server.onStatus(() => this.reload()),
      server.onStage((progress) => this.post({ type: "progress", progress })),
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, {
        deserializeWebviewPanel: async (view: vscode.WebviewPanel, saved: Saved | undefined) => this.restore(view, saved),
      }),
    );
  }

  /** Shows the panel for a function, at a tab if one is named. */
  async open(target: PanelParams, tab?: Tab): Promise<void> {
    this.view ??= this.adopt(
      vscode.window.createWebviewPanel(VIEW_TYPE, "jaxscope", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, {}),
    );
    this.view.reveal(undefined, true);
    await this.load(target);
    if (tab) this.post({ type: "show", tab });
  }

  /** Shows the Timings tab and measures; with `both`, captured against hoisted. */
  async time(target: PanelParams, both: boolean): Promise<void> {
    await this.open(target, "timings");
    if (this.model?.state === "ready" && !this.model.onlyRecorded) await this.measure(both ? ["captured", "hoisted"] : ["captured"]);
  }

  private adopt(view: vscode.WebviewPanel): vscode.WebviewPanel {
    view.webview.options = {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(this.context.extensionUri, "dist")],
    };
    view.webview.onDidReceiveMessage((message: FromPanel) => void this.receive(message));
    view.onDidDispose(() => this.closed());
    view.onDidChangeViewState(() => !view.visible && this.light.clear());
    view.webview.html = pageOf(view.webview, this.context.extensionUri);
    return view;
  }

  private restore(view: vscode.WebviewPanel, saved: Saved | undefined): void {
    this.view = this.adopt(view);
    if (saved?.path === undefined) return;
    this.signature = saved.signature ?? "";
    const target = { uri: vscode.Uri.file(saved.path).toString(), ...(saved.function ? { function: saved.function } : {}) };
    this.load(target).catch((error: unknown) => this.server.log.warn(failureOf(error).message));
  }

  private closed(): void {
    for (const source of this.work.values()) source.cancel();
    this.light.clear();
    this.view = undefined;
    this.model = undefined;
    this.waiting = [];
    this.ready = false;
    this.pinned = false;
    this.signature = "";
  }

  private post(message: ToPanel): void {
    if (!this.view) return;
    if (this.ready) void this.view.webview.postMessage(message);
    else this.waiting.push(message);
  }

  // --- which function ---

  private async load(target: PanelParams): Promise<void> {
    const turn = ++this.latest;
    const model = await this.ask(target);
    if (turn === this.latest) this.show(target.uri, model); // else a later question has been asked meanwhile
  }

  /** A function that has no such signature is shown under its first one. */
  private async ask(target: PanelParams): Promise<PanelModel> {
    return panelModel(await this.server.connected(), { ...target, signature: this.signature });
  }

  private show(uri: string, model: PanelModel): void {
    if (!this.view) return;
    this.uri = uri;
    this.model = model;
    this.view.title = model.function ? `jaxscope: ${model.function}` : "jaxscope";
    this.post({ type: "model", model });
  }

  private reload(): void {
    if (!this.view || this.uri === undefined) return;
    const name = this.model?.function;
    this.load({ uri: this.uri, ...(name ? { function: name } : {}) }).catch((error: unknown) =>
      this.server.log.warn(failureOf(error).message),
    );
  }

  private cursorMoved(editor: vscode.TextEditor): void {
    if (!this.view?.visible || editor.document.languageId !== "python" || editor.document.uri.scheme !== "file") return;
    const line = editor.selection.active.line + 1;
    this.post({ type: "cursor", place: { path: editor.document.uri.fsPath, line } });
    if (!this.pinned) this.later("cursor", CURSOR_RESTS_MS, () => this.follow(editor));
  }

  /** Goes to the function under the cursor. A line in no traced function of the same file changes nothing. */
  private async follow(editor: vscode.TextEditor): Promise<void> {
    const uri = editor.document.uri.toString();
    const turn = ++this.latest;
    const model = await this.ask({ uri, position: editor.selection.active });
    const elsewhere = !model.function && this.model?.function !== "" && this.sameFile(uri);
    if (turn === this.latest && !this.pinned && !elsewhere) this.show(uri, model);
  }

  private edited(document: vscode.TextDocument): void {
    if (this.view?.visible && this.sameFile(document.uri.toString())) this.later("edit", EDIT_RESTS_MS, async () => this.reload());
  }

  private later(what: "cursor" | "edit", delay: number, action: () => Promise<void>): void {
    clearTimeout(this.rests.get(what));
    const run = () => action().catch((error: unknown) => this.server.log.warn(failureOf(error).message));
    this.rests.set(what, setTimeout(run, delay));
  }

  private sameFile(uri: string): boolean {
    return this.uri !== undefined && vscode.Uri.parse(uri).fsPath === vscode.Uri.parse(this.uri).fsPath;
  }

  // --- what the page asks for ---

  private async receive(message: FromPanel): Promise<void> {
    try {
      await this.answer(message);
    } catch (error) {
      const failure = failureOf(error);
      if (!failure.cancelled) void vscode.window.showErrorMessage(failure.message);
    }
  }

  private async answer(message: FromPanel): Promise<void> {
    switch (message.type) {
      case "ready":
        return this.pageReady(message.pinned);
      case "goto":
        return reveal(message.place, true);
      case "hover":
        return this.light.hover(message.place);
      case "light":
        this.light.keep(message.places);
        return message.places[0] && reveal(message.places[0], false);
      case "hues":
        return this.light.map(message.lines);
      case "pin":
        this.pinned = message.pinned;
        return;
      case "signature":
        this.signature = message.signature;
        return this.reload();
      case "cancel":
        return this.cancelWork();
      default:
        return this.askServer(message);
    }
  }

  private async askServer(message: FromPanel): Promise<void> {
    const uri = this.uri;
    if (message.type === "do") return act(message.action, { model: this.model, uri, server: this.server, documents: this.documents });
    if (uri === undefined) return;
    if (message.type === "choose") return this.load({ uri, function: message.function });
    if (message.type === "refresh") return void (await trace(await this.server.connected(), uri));
    if (message.type === "consent") return void (await consent(await this.server.connected(), message.answer, uri));
    if (message.type === "program") return this.readProgram(uri, message.form);
    if (message.type === "constants") return this.readConstants(uri);
    if (message.type === "time") return this.measure(message.forms);
    if (message.type === "fix") return this.fix(uri, message.fixes);
    if (message.type === "document") return this.documents.open(message.name, message.text);
  }

  private pageReady(pinned: boolean): void {
    this.ready = true;
    this.pinned = pinned;
    const waiting = this.waiting;
    this.waiting = [];
    if (this.model) this.post({ type: "model", model: this.model });
    for (const message of waiting) if (message.type !== "model") this.post(message);
  }

  private async fix(uri: string, fixes: readonly FixRequest[]): Promise<void> {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
    await applyFix(await this.server.connected(), uri, document.version, this.model?.function ?? "", fixes);
  }

  /** Cancels what the panel asked for, or else the trace that runs by itself. */
  private async cancelWork(): Promise<void> {
    for (const source of this.work.values()) source.cancel();
    if (this.work.size === 0 && this.uri !== undefined) await cancel(await this.server.connected(), this.uri);
  }

  /** What the page shows now: an answer that comes later is still of this. */
  private get shown(): Shown {
    return { function: this.model?.function ?? "", signature: this.model?.signature ?? "" };
  }

  private readProgram(uri: string, form: Form): Promise<void> {
    const of = this.shown;
    return this.during("program", async (token) => {
      const read = await program(await this.server.connected(), uri, of, form, token);
      this.post({ type: "program", of, form, program: read });
    });
  }

  private readConstants(uri: string): Promise<void> {
    const of = this.shown;
    return this.during("constants", async (token) => {
      this.post({ type: "constants", of, lowered: await constants(await this.server.connected(), uri, of, token) });
    });
  }

  private measure(forms: readonly Form[]): Promise<void> {
    const of = this.shown;
    const uri = this.uri ?? "";
    return this.during("time", async (token) => {
      const timings = await time(await this.server.connected(), uri, of, forms, token);
      this.post({ type: "timings", of, timings });
    });
  }

  /** Runs a piece of work, one of its kind at a time, and tells the page of its start and end. */
  private async during(work: Work, action: (token: vscode.CancellationToken) => Promise<void>): Promise<void> {
    this.work.get(work)?.cancel();
    const source = new vscode.CancellationTokenSource();
    this.work.set(work, source);
    this.post({ type: "started", work });
    let ended: ToPanel = { type: "ended", work, message: "", cancelled: false };
    try {
      await action(source.token);
    } catch (error) {
      ended = { type: "ended", work, ...failureOf(error) };
    }
    if (this.work.get(work) !== source) return; // newer work of the kind has taken over
    this.work.delete(work);
    source.dispose();
    this.post(ended);
  }

  dispose(): void {
    for (const rest of this.rests.values()) clearTimeout(rest);
    this.view?.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

export function registerPanel(context: vscode.ExtensionContext, server: Server): Panel {
  const panel = new Panel(context, server);
  context.subscriptions.push(panel);
  return panel;
}
