// One session in a trusted folder, from the first squiggle to the fix, in the order in which a newcomer meets things.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before } from 'node:test';
import { at } from '../../scripts/support/run.mjs';
import { Editor, pictured, until } from './harness.mjs';
import { markers, ranMarker } from './programs.mjs';

const example = (name) => fs.readFileSync(at('examples', name), 'utf8');
const lineOf = (text, part) => text.split('\n').findIndex((line) => line.includes(part)) + 1;
const WHITENER = example('whitener.py');
const USE = lineOf(WHITENER, 'centred @ BASIS');

const CRASHING = `import os

import jax
import jax.numpy as jnp

TABLE = jnp.ones((600, 600))
os.abort()


# jaxscope: f32[600]
@jax.jit
def look(x):
    return TABLE @ x
`;

let editor;
before(async () => {
  const files = { 'crashing.py': CRASHING, ...markers('session') };
  for (const name of ['whitener.py', 'attention.py', 'regression.py']) files[name] = example(name);
  editor = await Editor.boot({ name: 'session', files, open: 'whitener.py' });
  await editor.command('View: Toggle Primary Side Bar Visibility');
});
after(async () => {
  if (editor) fs.writeFileSync(`${editor.root}/extension.log`, editor.log());
  await editor?.stop();
});

const check = pictured(() => editor);

check('reading the source finds the captured array before anything is run', async () => {
  await editor.squiggles().first().waitFor();
  const rows = await until('the inferred finding', async () => {
    const found = (await editor.problems()).filter((row) => row.includes('BASIS'));
    return found.length > 0 && found;
  });
  assert.match(rows.join(' '), /`BASIS`.*1\.9 MiB.*inferred/);
  await editor.picture('static');
});

check('the question of consent comes before the first run', async () => {
  const question = await editor.question('May jaxscope run code in this folder?');
  for (const answer of ['When I save', 'Only when I ask', 'Never here']) assert.equal(await question.getByRole('button', { name: answer }).count(), 1);
  await editor.open('marker.py');
  await editor.save();
  assert.equal(ranMarker('session'), false, 'nothing may run before the answer');
  await editor.picture('consent');
  await question.getByRole('button', { name: 'When I save' }).click();
  await until('the marker that the module writes when it runs', () => ranMarker('session'));
  await editor.command('View: Close Editor');
});

check('a trace shows shapes and bytes in the code lens and replaces the inferred finding', async () => {
  await editor.open('whitener.py');
  await editor.lens(/f32\[32,700\].*→.*f32\[32,700\].*1 constant.*1\.9 MiB/).first().waitFor();
  const rows = await until('the traced finding', async () => {
    const found = (await editor.problems()).filter((row) => row.includes('BASIS'));
    return found.some((row) => row.includes('float32[700,700]')) && found;
  });
  assert.equal(rows.filter((row) => row.includes('captured-array')).length, 1, `replaced, not doubled: ${rows}`);
  assert.doesNotMatch(rows.join(' '), /inferred/);
});

check('hover on a traced function shows its signature, constants and jaxpr', async () => {
  await editor.command('View: Toggle Problems');
  await editor.cursor(lineOf(WHITENER, 'def whiten'), 6);
  await editor.page.locator('.view-line span', { hasText: /^whiten$/ }).first().hover();
  const hover = editor.hoverBox('BASIS');
  await hover.waitFor();
  const text = await hover.innerText();
  assert.match(text, /f32\[32,700\]/);
  assert.match(text, /dot_general/);
  await editor.picture('docs-hover');
  await editor.page.keyboard.press('Escape');
});

check('the panel opens from the code lens and answers the three questions', async () => {
  await editor.lensLink('Panel').click();
  await editor.panel.getByRole('tab', { name: 'Overview' }).waitFor();
  await editor.panel.getByText('BASIS').first().waitFor();
  assert.match(await editor.panel.locator('body').innerText(), /1\.9 MiB/);
  await editor.picture('panel-overview');
});

check('an operation leads to its line, and a line lights its operations', async () => {
  await editor.panel.getByRole('tab', { name: 'StableHLO' }).click();
  const product = editor.panel.locator('.rows [role=option]', { hasText: 'dot_general' }).first();
  await product.click();
  await until('the lit line of the product', async () => (await editor.litLines()).join() === String(USE));
  await editor.panel.getByRole('listbox').press('Enter');
  await editor.status(`Ln ${USE},`).waitFor();
  await editor.picture('stablehlo-to-source');
  await editor.cursor(USE - 1, 5);
  await until('lit rows of the mean', async () => {
    const lit = await editor.panel.locator('.rows [role=option].lit').allInnerTexts();
    return lit.some((row) => /subtract|reduce|divide/.test(row)) && !lit.some((row) => row.includes('dot_general'));
  });
  await editor.picture('docs-stablehlo');
});

check('the constants tab names the array, where it was bound and where it is read', async () => {
  await editor.panel.getByRole('tab', { name: /^Constants/ }).click();
  const row = editor.panel.getByRole('row').filter({ hasText: 'BASIS' }).first();
  await row.waitFor();
  assert.match(await row.innerText(), /700,700/);
  await editor.picture('constants');
});

check('captured against hoisted is measured', async () => {
  await editor.cursor(USE, 5);
  await editor.command('jaxscope: What Do the Captured Arrays Cost?');
  await editor.panel.getByRole('tab', { name: 'Timings' }).waitFor();
  await until('both forms measured', async () => {
    const text = await editor.panel.locator('body').innerText();
    return /hoisted/i.test(text) && /median/i.test(text) && /(ms|µs)/.test(text);
  });
  await editor.lens(/f32\[32,700\].*FLOP/).first().waitFor();
  assert.equal(await editor.lens(/running…/).count(), 0);
  await editor.picture('timings');
  await editor.panel.getByRole('tab', { name: 'Overview' }).click();
  await editor.panel.getByText(/StableHLO module|Captured against hoisted/i).first().waitFor();
  await editor.picture('panel-measured');
});

check('the quick fix makes the array an argument, on disk, and the warning goes', async () => {
  await editor.cursor(USE, WHITENER.split('\n')[USE - 1].indexOf('BASIS') + 2);
  await editor.bulb('Pass `BASIS` as an argument');
  await editor.picture('docs-editor');
  await editor.page.keyboard.press('Enter');
  await editor.line(/def\swhiten\(batch,\sBASIS\)/).waitFor();
  await editor.notification(/is now an argument of/).waitFor();
  await editor.focus();
  await editor.save();
  const text = await until('the fixed text on disk', () => /def whiten\(batch, BASIS\)/.test(editor.onDisk('whitener.py')) && editor.onDisk('whitener.py'));
  assert.match(text, /float\(whiten\(batch, BASIS\)/, 'the call passes the array');
  await editor.squiggles().first().waitFor({ state: 'hidden' });
  await editor.lens(/^f32\[32,700\],\sf32\[700,700\]\s→\sf32\[32,700\]\s\|/).first().waitFor();
  await editor.panel.getByText('Nothing captured above 1.0 MiB.').waitFor();
  await editor.picture('fixed');
});

check('a clean file has nothing underlined', async () => {
  await editor.open('regression.py');
  await editor.lens(/f32\[64\]/).first().waitFor();
  assert.equal(await editor.squiggles().count(), 0);
});

check('a module that aborts the worker does no harm to the editor', async () => {
  await editor.open('crashing.py');
  await editor.squiggles().first().waitFor();
  await editor.save();
  await until('word of the crash', async () => /crash|abort|signal 6|stopped/i.test(await editor.page.locator('.codelens-decoration, .statusbar-item, .notification-list-item').allInnerTexts().then((all) => all.join(' '))));
  await editor.picture('crashed');
  await editor.rewrite(CRASHING.replace('os.abort()', ''));
  await editor.lens(/f32\[600\].*1 constant.*1\.4 MiB/).first().waitFor();
});

check('the consent is remembered for the folder', async () => {
  await editor.go('attention.py');
  await editor.lens(/f32\[4,128,512\].*4 constants.*12\.0 MiB/).first().waitFor();
  assert.equal(await editor.notification('May jaxscope run code').count(), 0);
  await editor.picture('attention');
});
