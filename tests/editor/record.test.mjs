// Recording a run from the editor: the lens that offers it, the terminal that runs it, and what it shows afterwards.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before } from 'node:test';
import { at } from '../../scripts/support/run.mjs';
import { Editor, pictured, until } from './harness.mjs';

const TRAINING = fs.readFileSync(at('examples', 'training.py'), 'utf8');
const STEP = TRAINING.split('\n').findIndex((line) => line.includes('def step(')) + 1;
const LAUNCH = { version: '0.2.0', configurations: [
  { name: 'Train shortly', type: 'debugpy', request: 'launch', program: '${workspaceFolder}/training.py', args: ['--steps', '4'] },
  { name: 'Attach', type: 'debugpy', request: 'attach' },
] };

let editor;
before(async () => {
  editor = await Editor.boot({ name: 'record', files: { 'training.py': TRAINING, 'pyproject.toml': '' }, open: 'training.py',
    settings: { 'terminal.integrated.gpuAcceleration': 'off' } }); // so that what is in it can be read
  fs.mkdirSync(editor.path('.vscode'));
  fs.writeFileSync(editor.path('.vscode/launch.json'), JSON.stringify(LAUNCH));
  await editor.command('View: Toggle Primary Side Bar Visibility');
  await (await editor.question('May jaxscope run code in this folder?')).getByRole('button', { name: 'When I save' }).click();
});
after(async () => {
  if (editor) fs.writeFileSync(`${editor.root}/extension.log`, editor.log());
  await editor?.stop();
});

const check = pictured(() => editor);
const terminal = async () => (await editor.page.locator('.xterm-rows:visible').first().innerText()).replace(/\s+/g, ' ');
const runs = () => {
  const folder = editor.path('.jaxscope/recordings');
  return fs.existsSync(folder) ? fs.readdirSync(folder).map((run) => path.join(folder, run)) : [];
};
const rows = () => editor.page.locator('.quick-input-list .monaco-list-row');

/** What the runs that ended recorded. */
const ended = () => runs().filter((run) => fs.readdirSync(run).some((part) => fs.readFileSync(path.join(run, part), 'utf8').includes('{"ended"')));

check('a function that exists only while the program runs offers to record a run', async () => {
  await editor.lens(/shapes\snot\sknown/).first().waitFor();
  await editor.picture('record-offered');
  await editor.lensLink('Record a run').click();
  await rows().first().waitFor();
  const offered = (await rows().allInnerTexts()).map((row) => row.replace(/\s+/g, ' '));
  assert.match(offered.join(' | '), /training\.py ?this file.*this file with arguments.*-m pytest.*Train shortly/);
  assert.doesNotMatch(offered.join(' '), /Attach|again/);
  await editor.picture('record-choice');
});

check('the run goes on in a terminal, and what it traced is shown', async () => {
  await rows().first().click();
  await editor.squiggles().first().waitFor();
  await until('the end of the run', () => ended().length === 1);
  await editor.lens(/f32\[16\].*→.*f32\[16\].*2\sconstants.*1\.3\sMiB/).first().waitFor();
  await until('the report', async () => /traced under/.test(await terminal()));
  await editor.picture('recorded');
  const found = (await editor.problems()).join(' ');
  assert.match(found, /inputs.*float32\[20000,16\].*1\.2 MiB/);
  assert.doesNotMatch(found, /inputs[^|]*inferred/);
});

check('the panel shows what the run knows, and why there is no program', async () => {
  await editor.command('View: Toggle Panel Visibility');
  await editor.cursor(STEP, 10);
  await editor.command('jaxscope: Open Panel');
  await editor.panel.getByText('exists only while train runs').first().waitFor();
  assert.match(await editor.panel.locator('.chip').first().innerText(), /recorded\s*training\.py:\d+/);
  await editor.picture('recorded-panel');
  await editor.panel.getByRole('tab', { name: 'StableHLO' }).click();
  await editor.panel.getByText('StableHLO and timings need a function that can be traced here.').waitFor();
  await editor.picture('recorded-stablehlo');
});

check('hover says that the shapes are from a recorded run', async () => {
  await editor.page.locator('.view-line span', { hasText: /^step$/ }).first().hover();
  const hover = editor.hoverBox('from a recorded run');
  await hover.waitFor();
  assert.match(await hover.innerText(), /first call/);
  await editor.picture('recorded-hover');
  await editor.page.keyboard.press('Escape');
});

check('a debug configuration and the last run can be recorded, too', async () => {
  for (const [count, wanted] of [[2, 'Train shortly'], [3, 'again']]) {
    await editor.focus();
    await editor.command('jaxscope: Record a Run', true);
    await rows().filter({ hasText: wanted }).first().click();
    await until(`run ${count}`, () => ended().length === count);
    await until('four steps', async () => /after 4 steps/.test(await terminal()));
  }
  await editor.picture('record-again');
});
