// The real page in a real browser: under its content policy, with a stand-in for the editor at the other end.
import fs from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { html } from "../../../client/src/features/panelPage.ts";
import type { FromPanel, ToPanel } from "../../../client/webview/messages.ts";

export const THEMES = ["dark", "light", "contrast"] as const;
export type Theme = (typeof THEMES)[number];
const PICTURES = path.resolve("test-results/webview");
const EXECUTABLE = process.env["JAXSCOPE_CHROMIUM"] ?? "/usr/bin/chromium";
const NONCE = "bm9uY2Utb2YtdGhlLXRlc3Rz";

/** What VS Code gives a webview, as far as the page uses it. Its state outlives a reload, as in the editor. */
const EDITOR = `
  if (sessionStorage.start !== location.search) sessionStorage.clear();
  sessionStorage.start = location.search;
  window.sent = JSON.parse(sessionStorage.sent ?? "[]");
  window.acquireVsCodeApi = () => ({
    postMessage: (message) => window.sent.push(structuredClone(message)),
    getState: () => JSON.parse(sessionStorage.state ?? "null") ?? undefined,
    setState: (state) => { sessionStorage.state = JSON.stringify(state); },
  });
`;

export class Editor {
  readonly problems: string[] = [];
  private starts = 0;
  private constructor(
    readonly page: Page,
    private readonly browser: Browser,
    private readonly server: http.Server,
  ) {
    page.on("console", (message) => message.type() === "error" && this.problems.push(message.text()));
    page.on("pageerror", (error) => this.problems.push(String(error)));
  }

  static async open(): Promise<Editor> {
    const server = http.createServer(serve);
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"] });
    const page = await browser.newPage({ viewport: { width: 900, height: 900 } });
    page.setDefaultTimeout(5000);
    await page.addInitScript(EDITOR);
    return new Editor(page, browser, server);
  }

  private get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await new Promise((closed) => this.server.close(closed));
  }

  /** Begins anew, with nothing saved. */
  async fresh(...messages: ToPanel[]): Promise<void> {
    this.starts += 1;
    await this.page.goto(`${this.address}?${this.starts}`);
    await this.tell(...messages);
  }

  async tell(...messages: ToPanel[]): Promise<void> {
    await this.page.evaluate((all) => all.forEach((message) => window.postMessage(message, "*")), messages);
    await this.settle();
  }

  /** Waits until what was asked for is drawn. */
  async settle(): Promise<void> {
    await this.page.evaluate(() => new Promise((drawn) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(drawn)), 0)));
  }

  /** What the page said to the editor since the last call. */
  async heard(): Promise<FromPanel[]> {
    await this.settle();
    return this.page.evaluate(() => (window as unknown as { sent: FromPanel[] }).sent.splice(0));
  }

  async look(theme: Theme, width: number, height = 900): Promise<void> {
    await this.page.setViewportSize({ width, height });
    await this.page.evaluate((name) => document.documentElement.setAttribute("data-theme", name), theme);
    await this.settle();
  }

  async picture(name: string): Promise<void> {
    fs.mkdirSync(PICTURES, { recursive: true });
    await this.page.screenshot({ path: path.join(PICTURES, `${name}.png`), animations: "disabled" });
  }
}

function serve(request: http.IncomingMessage, response: http.ServerResponse): void {
  const files: Readonly<Record<string, readonly [string, string]>> = {
    "/webview.js": ["text/javascript", "dist/webview.js"],
    "/webview.css": ["text/css", "dist/webview.css"],
    "/themes.css": ["text/css", "tests/webview/support/themes.css"],
  };
  const file = files[request.url ?? ""];
  if (file) {
    response.setHeader("Content-Type", file[0]);
    response.end(fs.readFileSync(path.resolve(file[1])));
  } else if (request.url?.startsWith("/?")) {
    response.setHeader("Content-Type", "text/html");
    const origin = `http://${request.headers.host ?? ""}`;
    const page = html(`${origin}/webview.js`, `${origin}/webview.css`, origin, NONCE);
    response.end(page.replace("<title>", '<link rel="stylesheet" href="/themes.css"><title>').replace("<html", '<html data-theme="dark"'));
  } else {
    response.writeHead(request.url === "/favicon.ico" ? 204 : 404).end();
  }
}
