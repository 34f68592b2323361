// Boots the packed extension in a real VS Code and drives it with a real browser.

import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { chromium } from 'playwright-core';
import { at } from '../../scripts/support/run.mjs';
import { pythonIn } from '../../scripts/support/python.mjs';
import { startServer } from '../../scripts/support/workbench.mjs';

export const RESULTS = at('test-results', 'editor');
const LAUNCH = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const LOOKS = { 'editor.hover.delay': 150, 'editor.minimap.enabled': false, 'window.commandCenter': false, 'workbench.layoutControl.enabled': false,
  'editor.lightbulb.enabled': 'on', 'workbench.colorTheme': 'Default Light Modern' };

/** Waits until `look` returns something true, and returns it. */
export async function until(what, look, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`waited ${seconds} s in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** `test`, which keeps a picture of the window when it fails. `editor` gives the window. */
export const pictured = (editor) => (name, work) => test(name, async () => {
  const picture = `failed-${name.replace(/\W+/g, '-')}`;
  fs.rmSync(path.join(RESULTS, `${picture}.png`), { force: true });
  try {
    await work();
  } catch (error) {
    await editor()?.picture(picture).catch(() => undefined);
    throw error;
  }
});

/** One window of VS Code on a folder of its own. */
export class Editor {
  /** `files`: name → text. `trust: false` opens the folder in Restricted Mode. */
  static async boot({ name, files, open, trust = true, settings = {}, machine = {} }) {
    const editor = new Editor();
    editor.root = path.join(RESULTS, name);
    editor.folder = path.join(editor.root, 'folder');
    fs.rmSync(editor.root, { recursive: true, force: true }); // also what was answered to the question of consent
    const server = startServer({
      root: path.join(editor.root, 'server'), vsix: process.env.JAXSCOPE_VSIX, fresh: true, trust, settings: { ...LOOKS, ...settings },
      env: { XDG_STATE_HOME: path.join(editor.root, 'state') },
      machine: { 'jaxscope.interpreter': pythonIn(at('.venv')), ...machine },
    });
    for (const [file, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(editor.path(file)), { recursive: true });
      fs.writeFileSync(editor.path(file), text);
    }
    editor.server = await server;
    editor.browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: LAUNCH });
    const context = await editor.browser.newContext({ viewport: { width: 1500, height: 880 }, locale: 'en-US' });
    editor.page = await context.newPage();
    editor.page.setDefaultTimeout(60_000);
    await editor.go(open);
    return editor;
  }

  /** Opens the folder's window anew, with this file. */
  async go(file) {
    await this.page.goto(this.server.url(this.folder, path.join(this.folder, file)));
    await this.page.locator(`.tab[data-resource-name="${file}"]`).waitFor({ timeout: 90_000 });
  }

  /** Ends browser, workbench and language server. */
  async stop() {
    await this.browser?.close();
    await this.server?.stop();
  }

  path(file) { return path.join(this.folder, file); }

  onDisk(file) { return fs.readFileSync(this.path(file), 'utf8'); }

  /** Keeps a picture in test-results/editor/; those named `docs` are the README's. */
  async picture(name, options = {}) {
    const target = path.join(RESULTS, `${name}.png`);
    await this.page.screenshot({ path: target, animations: 'disabled', ...options });
    if (process.env.JAXSCOPE_BLESS && name.startsWith('docs-')) {
      fs.mkdirSync(at('docs', 'images'), { recursive: true });
      fs.copyFileSync(target, at('docs', 'images', `${name.slice('docs-'.length)}.png`));
    }
  }

  /**
   * Opens the quick input by a key, fills it in and picks the row with this text, or presses Enter where there is none.
   * A window that is still drawing itself may take the focus away, which closes the input: then it is tried again. The
   * text is put into the input, not typed: by then the keyboard may be the text editor's. `leads`: another input follows.
   */
  async quick(key, text, row, leads = false) {
    const widget = this.page.locator('.quick-input-widget').first();
    const input = widget.locator('input[type="text"]').first();
    for (let attempt = 0; ; attempt++) {
      try {
        await this.page.keyboard.press(key);
        await input.waitFor({ timeout: 5000 });
        await input.evaluate((element, value) => {
          element.value = value;
          element.dispatchEvent(new Event('input', { bubbles: true }));
        }, text);
        // Enter straight after filling would run the row that was on top before.
        if (row) await this.page.locator('.quick-input-list .monaco-list-row', { hasText: row }).first().click({ timeout: 10_000 });
        else await input.press('Enter', { timeout: 5000 });
        return leads ? undefined : await widget.waitFor({ state: 'hidden', timeout: 10_000 });
      } catch (error) {
        if (attempt === 3) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** Runs a command of the palette by its label. */
  async command(label, leads = false) { await this.quick('F1', `>${label}`, label, leads); }

  /** Opens a file of the folder, or brings its tab to the front, by Quick Open. */
  async open(file) {
    await this.quick('Control+P', file, file);
    await this.page.locator(`.tab.active[data-resource-name="${file}"]`).waitFor();
  }

  /** Puts the cursor at a line and column, which count from 1. */
  async cursor(line, column = 1) {
    await this.focus();
    await this.quick('Control+G', `:${line}:${column}`);
  }

  /** Gives the keyboard to the text editor in the first group. */
  async focus() { await this.command('View: Focus First Editor Group'); }

  /** Replaces the whole text of the active editor, and saves. */
  async rewrite(text) {
    await this.focus();
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.insertText(text);
    await this.save();
  }

  async save() {
    await this.page.keyboard.press('Control+S');
    await this.page.locator('.tab.active.dirty').waitFor({ state: 'hidden' });
  }

  /** Opens the light bulb's menu at the cursor; the entry with this text. A key that comes while VS Code draws is lost. */
  async bulb(text) {
    const row = this.page.locator('.action-widget .monaco-list-row', { hasText: text }).first();
    await until(`the light bulb's ${text}`, async () => {
      await this.page.keyboard.press('Control+.');
      return row.waitFor({ timeout: 5000 }).then(() => true, () => false);
    });
    return row;
  }

  squiggles(kind = 'warning') { return this.page.locator(`.monaco-editor .squiggly-${kind}`); }

  lens(text) { return this.page.locator('.codelens-decoration', { hasText: text }); }

  lensLink(text) { return this.page.locator('.codelens-decoration a', { hasText: text }).first(); }

  hoverBox(text) { return this.page.locator('.monaco-hover:visible', { hasText: text }).first(); }

  line(text) { return this.page.locator('.view-line', { hasText: text }).first(); }

  notification(text) { return this.page.locator('.notifications-toasts .notification-list-item, .notifications-center .notification-list-item', { hasText: text }).first(); }

  /** A notification that waits for an answer, fetched from the centre when its toast has gone or has not come yet. */
  async question(text) {
    const found = this.notification(text);
    if (!(await found.isVisible())) await this.command('Notifications: Show Notifications');
    await found.waitFor();
    return found;
  }

  status(text) { return this.page.locator('.statusbar-item', { hasText: text }).first(); }

  /** Numbers of the source lines that have a background of their own: those that the panel lights. */
  litLines() {
    return this.page.evaluate(() => {
      const editor = document.querySelector('.editor-group-container .monaco-editor');
      const isLit = (element) => getComputedStyle(element).backgroundColor !== 'rgba(0, 0, 0, 0)';
      const lit = [...editor.querySelectorAll('.view-overlays > div')].filter((row) => [...row.querySelectorAll('[class*="TextEditorDecorationType"]')].some(isLit));
      const numbers = [...editor.querySelectorAll('.margin-view-overlays > div')].map((row) => [row.style.top, Number(row.querySelector('.line-numbers')?.textContent)]);
      const byTop = new Map(numbers);
      return lit.map((row) => byTop.get(row.style.top)).filter(Boolean);
    });
  }

  /** The panel's page. */
  get panel() { return this.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame'); }

  /** Texts of the Problems view. */
  async problems() {
    await this.command('Problems: Focus on Problems View');
    await this.page.locator('.markers-panel').waitFor();
    const rows = await this.page.locator('.markers-panel .monaco-list-row').allInnerTexts();
    return rows.map((row) => row.replace(/\s+/g, ' '));
  }

  /** The extension's own log. */
  log() {
    const found = [];
    const walk = (folder) => {
      for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
        const file = path.join(folder, entry.name);
        if (entry.isDirectory()) walk(file);
        else if (/jaxscope/.test(file) && entry.name.endsWith('.log')) found.push(fs.readFileSync(file, 'utf8'));
      }
    };
    if (fs.existsSync(this.server.logs)) walk(this.server.logs);
    return found.join('\n');
  }
}
