// Fixes in the real editor: over two files with a preview and one undo, unsafe ones that ask, refused ones, and on save.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before } from 'node:test';
import { Editor, pictured, until } from './harness.mjs';

const HEAD = `import os

import jax
import jax.numpy as jnp
import numpy as np

`;
const PROJECT = `

# jaxscope: f32[3,700]
@jax.jit
def project(x):
    return x @ W
`;
const MADE = 'W = jnp.asarray(np.random.default_rng(0).standard_normal((700, 700), np.float32))\n';
const CALL = '\n\nprint(project(jnp.ones((3, 700))).sum())\n';
const LIBRARY = HEAD + MADE + PROJECT;
const USE = `import jax.numpy as jnp\r\nfrom library import project\r\n\r\n\r\ndef main():\r\n\treturn project(jnp.ones((3, 700))).sum()  # 例\r\n`;
const DOUBTED = `${HEAD}if os.path.sep:\n    ${MADE}${PROJECT.replace('# jaxscope: f32[3,700]\n', '')}`; // no shapes: no run can clear the doubt
const REFUSED = `${HEAD}${MADE}${PROJECT}${CALL}handed_on = np.frompyfunc(project, 1, 1)\n`;
const SAVED = HEAD + MADE + PROJECT + CALL;
const SETTINGS = '.vscode/settings.json';
const lineOf = (text, part) => text.split('\n').findIndex((line) => line.includes(part)) + 1;

let editor;
before(async () => {
  const files = { 'library.py': LIBRARY, 'use.py': USE, 'doubted.py': DOUBTED, 'refused.py': REFUSED, 'saved.py': SAVED, 'pyproject.toml': '', [SETTINGS]: '{}' };
  editor = await Editor.boot({ name: 'fixes', files, open: 'library.py' });
  await editor.command('View: Toggle Primary Side Bar Visibility');
  await (await editor.question('May jaxscope run code in this folder?')).getByRole('button', { name: 'When I save' }).click();
});
after(async () => {
  if (editor) fs.writeFileSync(`${editor.root}/extension.log`, editor.log());
  await editor?.stop();
});

const check = pictured(() => editor);
const preview = () => editor.page.locator('.bulk-edit-panel');

/** An entry of the light bulb's menu at the read of `W`. */
async function bulb(text, entry) {
  await editor.lens(/1 constant/).first().waitFor();
  await editor.cursor(lineOf(text, 'x @ W'), 16);
  return editor.bulb(entry);
}

check('a fix over two files is previewed with what each edit is for', async () => {
  await (await bulb(LIBRARY, '(preview)')).click();
  await preview().waitFor();
  await editor.picture('fix-preview');
  const rows = (await preview().locator('.monaco-list-row').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ')).join(' | ');
  assert.match(rows, /library\.py/);
  assert.match(rows, /use\.py/);
  assert.equal(editor.onDisk('use.py'), USE, 'nothing is written yet');
  await editor.page.getByRole('button', { name: /Group Changes By Type/ }).click();
  await preview().getByText('Declared shapes').waitFor(); // the list shows only what fits
  await editor.picture('fix-preview-by-kind');
  await editor.page.getByRole('button', { name: /Group Changes By File/ }).click();
  for (const file of ['library.py', 'use.py']) await preview().locator('.monaco-list-row', { hasText: file }).locator('.edit-checkbox, [role=checkbox]').first().click();
  await preview().getByRole('button', { name: 'Apply' }).click();
  await editor.notification(/is now an argument of project\. .*Changed together: library\.py, use\.py/).waitFor();
  await until('both files on disk', () => /project\(x, W\)/.test(editor.onDisk('library.py')) && /700\)\), W\)/.test(editor.onDisk('use.py')));
  assert.match(editor.onDisk('use.py'), /# 例\r\n$/);
  await editor.picture('fix-applied-in-two-files');
});

check('one undo restores both files byte for byte', async () => {
  await editor.open('library.py');
  await editor.focus();
  await editor.page.keyboard.press('Control+Z');
  await editor.line(/def\sproject\(x\):/).waitFor();
  await editor.page.locator('.tab.dirty[data-resource-name="use.py"]').waitFor(); // both at once
  await editor.command('File: Save All Files');
  await until('the old texts on disk', () => editor.onDisk('library.py') === LIBRARY && editor.onDisk('use.py') === USE);
  await editor.picture('fix-undone');
});

check('a fix that is not proved to be safe asks first', async () => {
  await editor.command('View: Close All Editors');
  await editor.open('doubted.py');
  await (await bulb(DOUBTED, /^Pass `W` as an argument$/)).click();
  await preview().waitFor();
  await editor.notification(/Look at the edits before you apply them.*bound only where a condition holds/).waitFor();
  await editor.picture('fix-asks');
  await preview().getByRole('button', { name: 'Discard' }).click();
  await editor.notification('Not applied: the preview was closed, or no edit was ticked in it.').waitFor();
  assert.equal(editor.onDisk('doubted.py'), DOUBTED);
  assert.equal(await editor.page.locator('.tab.dirty').count(), 0);
});

check('what prevents a fix is said, and shown', async () => {
  await editor.open('refused.py');
  const why = await bulb(REFUSED, /Show why not: Pass `W` as an argument \(refused\.py:\d+\)/);
  await why.waitFor();
  await editor.picture('fix-refused');
  await why.click();
  await editor.notification(/Not offered: .*refused\.py line \d+/).waitFor();
  await editor.status(`Ln ${lineOf(REFUSED, 'frompyfunc')},`).waitFor();
  await editor.picture('fix-refused-shown');
});

check('safe fixes are made on save where the user wants that', async () => {
  fs.writeFileSync(editor.path(SETTINGS), JSON.stringify({ 'editor.codeActionsOnSave': { 'source.fixAll.jaxscope': 'explicit' } }));
  await editor.open('saved.py');
  await editor.lens(/f32\[3,700\].*1 constant/).first().waitFor();
  await until('the fixed text on disk', async () => { // VS Code reads its settings when it pleases
    await editor.cursor(1, 1);
    await editor.page.keyboard.type('# saved\n');
    await editor.save();
    return until('the fix', () => /def project\(x, W\)/.test(editor.onDisk('saved.py')), 8).catch(() => false);
  });
  assert.match(editor.onDisk('saved.py'), /^# saved\n/);
  assert.match(editor.onDisk('saved.py'), /project\(jnp\.ones\(\(3, 700\)\), W\)/);
  await editor.notification(/1 finding fixed in saved\.py\. Verified by running the code: 1\./).waitFor();
  await editor.squiggles().first().waitFor({ state: 'hidden' });
  await editor.picture('fix-on-save');
});

check('all of the project is fixed by one command', async () => {
  fs.writeFileSync(editor.path(SETTINGS), '{}');
  await editor.open('library.py');
  await editor.command('jaxscope: Fix All in the Project');
  await editor.notification(/fixed in .*library\.py.*use\.py/).waitFor();
  await until('both files on disk', () => /project\(x, W\)/.test(editor.onDisk('library.py')) && /700\)\), W\)/.test(editor.onDisk('use.py')));
  assert.equal(editor.onDisk('refused.py'), REFUSED);
  assert.equal(editor.onDisk('doubted.py'), DOUBTED);
  await editor.picture('fix-all');
});
