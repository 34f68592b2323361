// One example of each rule beside captured-array, as somebody sees it who only opens the file: the squiggle, what is said
// of it, and what the light bulb offers.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before } from 'node:test';
import { at } from '../../scripts/support/run.mjs';
import { Editor, pictured, until } from './harness.mjs';

const RULES = {
  donation: { at: '@jax.jit', says: /`params, momentum` are replaced by what `train_step` returns.*2\.0 MiB/, offers: /Donate `params` and `momentum`/ },
  retrace: { at: 'jax.jit(lambda', says: /`<lambda>` is a new lambda in each iteration/, offers: /loop|jit/i },
  'stale-capture': { at: 'temperature)', says: /`temperature` is changed on line 16.*goes on using 1\.0/, offers: /Pass `temperature` as an argument/ },
  'mutable-capture': { at: 'statistics["mean"]', says: /has what `statistics` holds compiled in/, offers: /Pass `statistics` as an argument/ },
  'tracer-leak': { at: 'self.hidden = hidden', says: /`self\.hidden` keeps a traced value/, offers: /tracer-leak/ },
  'side-effect': { at: 'print("error', says: /`print` prints while `loss` is traced/, offers: /jax\.debug\.print/ },
  'x64-truncation': { at: 'LEVELS))', says: /`LEVELS` is float64.*1\.0000000001 becomes 1\.0/, offers: /Ignore `x64-truncation`/ },
};
const nameOf = (rule) => `${rule.replace('-', '_')}.py`;
const texts = Object.fromEntries(Object.keys(RULES).map((rule) => [nameOf(rule), fs.readFileSync(at('examples', 'hazards', nameOf(rule)), 'utf8')]));

let editor;
before(async () => {
  editor = await Editor.boot({ name: 'rules', files: texts, open: 'donation.py' });
  await editor.command('View: Toggle Primary Side Bar Visibility');
  await (await editor.question('May jaxscope run code in this folder?')).getByRole('button', { name: 'Never here' }).click();
});
after(async () => {
  if (editor) fs.writeFileSync(`${editor.root}/extension.log`, editor.log());
  await editor?.stop();
});

const check = pictured(() => editor);

for (const [rule, { at: place, says, offers }] of Object.entries(RULES)) {
  check(`${rule} is underlined, said, and something is offered`, async () => {
    const text = texts[nameOf(rule)];
    const line = text.split('\n').findIndex((one) => one.includes(place)) + 1;
    await editor.open(nameOf(rule));
    await editor.squiggles().first().waitFor();
    const rows = await until(`the finding of ${rule}`, async () => {
      const found = (await editor.problems()).filter((row) => row.includes(rule));
      return found.length > 0 && found;
    });
    assert.match(rows.join(' '), says);
    await editor.cursor(line, text.split('\n')[line - 1].indexOf(place) + 2);
    await editor.bulb(offers);
    await editor.picture(`rule-${rule}`);
    await editor.page.keyboard.press('Escape');
    await editor.command('View: Close All Editors');
  });
}
