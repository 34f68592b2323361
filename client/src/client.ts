// The language server's process and the connection to it.
import { existsSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, type Executable, type LanguageClientOptions } from "vscode-languageclient/node";
import type { StageProgress, Status } from "./protocol.generated.ts";
import { environmentOf, findInterpreter, problemWith } from "./python.ts";
import { readSettings } from "./settings.ts";

/** Starts, restarts and stops the server, and passes on what it notifies of. */
export class Server implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel("jaxscope", { log: true });
  private readonly statusEmitter = new vscode.EventEmitter<Status>();
  private readonly traceEmitter = new vscode.EventEmitter<string>();
  private readonly stageEmitter = new vscode.EventEmitter<StageProgress>();
  private readonly problemEmitter = new vscode.EventEmitter<string | undefined>();
  private client: LanguageClient | undefined;
  private turn: Promise<void> = Promise.resolve();
  private interpreter = "";

  readonly onStatus = this.statusEmitter.event;
  /** Fires with a file's address when its trace is there, or a recorded run that shows something of it. */
  readonly onDidTrace = this.traceEmitter.event;
  readonly onStage = this.stageEmitter.event;
  /** Fires with the reason when the server cannot be started, and with undefined when it could. */
  readonly onProblem = this.problemEmitter.event;

  constructor(private readonly context: vscode.ExtensionContext) {}

  /** The running connection. Rejects when there is none. */
  get connection(): LanguageClient {
    if (!this.client?.isRunning()) throw new Error("jaxscope's server is not running. See its log.");
    return this.client;
  }

  /** The running connection, once a start that is under way has ended. */
  async connected(): Promise<LanguageClient> {
    await this.turn;
    return this.connection;
  }

  /** Stops the server if it runs and starts it anew with the interpreter that holds now. */
  restart(): Promise<void> {
    this.turn = this.turn.then(() => this.replace());
    return this.turn;
  }

  /** Restarts only when another interpreter than the running one is to be used. */
  async interpreterChanged(): Promise<void> {
    const found = await findInterpreter(vscode.workspace.workspaceFolders?.[0]);
    if (found.path !== this.interpreter) await this.restart();
  }

  /** Tells the server the settings that hold now. */
  async sendSettings(): Promise<void> {
    if (!this.client?.isRunning()) return;
    const settings = readSettings(this.context, vscode.workspace.workspaceFolders?.[0], this.interpreter);
    await this.client.sendNotification("workspace/didChangeConfiguration", { settings: { jaxscope: settings } });
  }

  private async replace(): Promise<void> {
    await this.stop();
    const folder = vscode.workspace.workspaceFolders?.[0];
    const found = await findInterpreter(folder);
    this.interpreter = found.path;
    this.log.info(`interpreter: ${found.path} (from ${found.source})`);
    const problem = await problemWith(found.path);
    this.problemEmitter.fire(problem);
    if (problem) {
      this.log.error(problem);
      void this.offerChoice(problem);
      return;
    }
    await this.start(folder);
  }

  private async start(folder: vscode.WorkspaceFolder | undefined): Promise<void> {
    const client = new LanguageClient("jaxscope", "jaxscope", this.executable(), this.options(folder));
    client.onNotification("jaxscope/status", (status: Status) => this.statusEmitter.fire(status));
    client.onNotification("jaxscope/didTrace", ({ uri }: { uri: string }) => this.traceEmitter.fire(uri));
    client.onNotification("jaxscope/didRecord", ({ uri }: { uri: string }) => this.traceEmitter.fire(uri));
    client.onNotification("jaxscope/stage", (progress: StageProgress) => this.stageEmitter.fire(progress));
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      const problem = `The server did not start: ${error instanceof Error ? error.message : String(error)}`;
      this.log.error(problem);
      this.problemEmitter.fire(problem);
    }
  }

  private executable(): Executable {
    // Never the user's folder as working folder: a bare `python` could be found there before the one on the path.
    return { ...this.commandLine("serve"), options: { cwd: this.context.extensionPath } };
  }

  /** How the interpreter in use runs one of jaxscope's commands. */
  private commandLine(name: string, ...rest: string[]): { readonly command: string; readonly args: string[] } {
    const root = this.context.extensionPath;
    const packed = path.join(root, "bundled", "run_jaxscope.py");
    if (existsSync(packed)) return { command: this.interpreter, args: [packed, name, ...rest] };
    // From a checkout: the project's own environment has the server's dependencies and the server itself.
    return { command: environmentOf(root) ?? this.interpreter, args: ["-m", "jaxscope.cli.main", name, ...rest] };
  }

  /** The command line that records a program, given as for Python itself, with this interpreter or the one in use. */
  async recorder(program: readonly string[], python?: string): Promise<{ readonly command: string; readonly args: string[] }> {
    await this.turn;
    return this.commandLine("record", "--python", python ?? this.interpreter, ...program);
  }

  private options(folder: vscode.WorkspaceFolder | undefined): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file", language: "python" }],
      outputChannel: this.log,
      initializationOptions: {
        settings: readSettings(this.context, folder, this.interpreter),
        trusted: vscode.workspace.isTrusted,
        commands: true,
      },
      markdown: { isTrusted: { enabledCommands: LINKED_COMMANDS }, supportHtml: true },
    };
  }

  private async offerChoice(problem: string): Promise<void> {
    const choose = "Choose interpreter";
    if ((await vscode.window.showErrorMessage(problem, choose)) === choose) {
      await vscode.commands.executeCommand("jaxscope.selectInterpreter");
    }
  }

  private async stop(): Promise<void> {
    const old = this.client;
    this.client = undefined;
    if (old?.needsStop()) await old.stop(5000).catch((error: unknown) => this.log.warn(String(error)));
  }

  async shutDown(): Promise<void> {
    await this.turn;
    await this.stop();
  }

  dispose(): void {
    for (const emitter of [this.statusEmitter, this.traceEmitter, this.stageEmitter, this.problemEmitter]) emitter.dispose();
    this.log.dispose();
  }
}

/** Commands that links in the server's hovers may call. */
const LINKED_COMMANDS = [
  "jaxscope.openPanel",
  "jaxscope.time",
  "jaxscope.measure",
  "jaxscope.declareShapes",
  "jaxscope.showLog",
  "jaxscope.restart",
  "jaxscope.traceNow",
];
