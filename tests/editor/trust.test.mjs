// A folder in Restricted Mode: what is shown without running anything, and what granting trust changes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before } from 'node:test';
import { Editor, pictured, until } from './harness.mjs';
import { markers, ranMarker } from './programs.mjs';

let editor;
before(async () => { editor = await Editor.boot({ name: 'trust', files: markers('trust'), open: 'marker.py', trust: false }); });
after(async () => {
  if (editor) fs.writeFileSync(`${editor.root}/extension.log`, editor.log());
  await editor?.stop();
});

const check = pictured(() => editor);

check('in Restricted Mode findings come from the source, and nothing is run', async () => {
  await editor.squiggles().first().waitFor();
  const rows = (await editor.problems()).filter((row) => row.includes('TABLE'));
  assert.match(rows.join(' '), /2\.0 MiB.*inferred/);
  await editor.command('View: Toggle Problems');
  await editor.save();
  await editor.cursor(13, 5);
  await editor.command('jaxscope: Open Panel');
  await editor.panel.getByText('Restricted Mode: your code is not run').waitFor();
  assert.equal(await editor.notification('May jaxscope run code').count(), 0, 'an untrusted folder is not even asked about');
  assert.equal(ranMarker('trust'), false);
  await editor.picture('restricted');
  await editor.page.keyboard.press('F1');
  await editor.page.locator('.quick-input-widget input[type="text"]').first().fill('>jaxscope: ');
  const offered = editor.page.locator('.quick-input-list .monaco-list-row');
  await offered.filter({ hasText: 'jaxscope: Show Log' }).first().waitFor();
  assert.equal(await offered.filter({ hasText: 'Record a Run' }).count(), 0, 'nor can a run be recorded');
  await editor.page.keyboard.press('Escape');
});

check('granting trust leads to the question, and the answer to a trace', async () => {
  await editor.command('Workspaces: Manage Workspace Trust');
  await editor.page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).click();
  const question = await editor.question('May jaxscope run code in this folder?');
  assert.equal(ranMarker('trust'), false, 'trust alone runs nothing');
  await question.getByRole('button', { name: 'When I save' }).click();
  await until('the marker that the module writes when it runs', () => ranMarker('trust'));
  await editor.page.keyboard.press('Escape'); // the editor of trust lies over the window
  await editor.lens(/f32\[1024\].*f32\[512\].*1 constant.*2\.0 MiB/).first().waitFor();
  await editor.picture('trusted');
});
