// The server's own requests, typed.
import type { CancellationToken } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Consent, FixRequest, Form, Shown } from "../webview/messages.ts";
import type { ConstantsLowered, PanelModel, ProgramText, Timings } from "./protocol.generated.ts";

export interface PanelParams {
  readonly uri: string;
  readonly position?: { readonly line: number; readonly character: number };
  readonly function?: string;
  readonly signature?: string;
}

const REQUEST_FAILED = -32803;
const CANCELLED = [-32800, -32802];

export const panelModel = (client: LanguageClient, params: PanelParams): Promise<PanelModel> =>
  client.sendRequest("jaxscope/panel", params);

export const program = (client: LanguageClient, uri: string, of: Shown, form: Form, token: CancellationToken) =>
  client.sendRequest<ProgramText>("jaxscope/program", { uri, ...of, stage: "stablehlo", form }, token);

export const constants = (client: LanguageClient, uri: string, of: Shown, token: CancellationToken) =>
  client.sendRequest<ConstantsLowered>("jaxscope/constants", { uri, ...of }, token);

export const time = (client: LanguageClient, uri: string, of: Shown, forms: readonly Form[], token: CancellationToken) =>
  client.sendRequest<Timings>("jaxscope/time", { uri, ...of, forms }, token);

export const trace = (client: LanguageClient, uri: string): Promise<null> => client.sendRequest("jaxscope/trace", { uri });

/** Says when code may be run in the folder of a file; in every folder where no file is meant. */
export const consent = (client: LanguageClient, answer: Consent, uri?: string): Promise<null> =>
  client.sendRequest("jaxscope/consent", uri === undefined ? { answer } : { answer, uri });

export const restartWorkers = (client: LanguageClient): Promise<null> => client.sendRequest("jaxscope/restart", {});

/** Stops whatever is being done with a file. */
export const cancel = (client: LanguageClient, uri: string) =>
  client.sendRequest("workspace/executeCommand", { command: "jaxscope.cancel", arguments: [uri] });

/** The server plans, verifies and applies the fixes by itself, as one change, and says what came of it. */
export const applyFix = (client: LanguageClient, uri: string, version: number, name: string, fixes: readonly FixRequest[]) => {
  const [first] = fixes;
  const target = { uri, version, rule: first?.rule, name: first?.name, line: first?.line, function: name };
  const names = fixes.map((fix) => fix.name);
  return client.sendRequest("workspace/executeCommand", { command: "jaxscope.applyFix", arguments: [{ ...target, names }] });
};

/** All safe fixes of a file, or of all files of its folder. The server shows how far it is, and says what came of it. */
export const fixAll = (client: LanguageClient, uri: string, project: boolean) =>
  client.sendRequest("workspace/executeCommand", { command: "jaxscope.fixAll", arguments: [{ uri, project }] });

/** How a request ended that did not end well. */
export function failureOf(error: unknown): { readonly message: string; readonly cancelled: boolean } {
  const code = (error as { code?: unknown }).code;
  const message = error instanceof Error ? error.message : String(error);
  return { message: code === REQUEST_FAILED || message ? message : "The request failed.", cancelled: CANCELLED.includes(code as number) };
}
