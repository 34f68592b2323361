// Runs the editor tests: packs the extension unless JAXSCOPE_VSIX names a package, sees to workbench and browser, and
// hands over to node's test runner. `--bless` makes the README's pictures anew. Other arguments go to the runner.

import fs from 'node:fs';
import { spawn } from 'node:child_process';
import { at, main, step } from '../../scripts/support/run.mjs';
import { ensureChromium } from '../../scripts/support/chromium.mjs';
import { ensureWorkbench, workbenchImpossible } from '../../scripts/support/workbench.mjs';
import { pack } from '../../scripts/package.mjs';

await main(async () => {
  const browser = await ensureChromium(step);
  const reason = browser.reason ?? workbenchImpossible();
  if (reason) {
    console.log(`NOT RUN: the editor tests (${reason}).`);
    return 0;
  }
  await ensureWorkbench(step);
  const args = process.argv.slice(2);
  const env = { ...process.env, CHROMIUM: browser.path, JAXSCOPE_VSIX: process.env.JAXSCOPE_VSIX ?? (await pack()) };
  if (args.includes('--bless')) env.JAXSCOPE_BLESS = '1';
  const folder = at('tests', 'editor');
  const files = fs.readdirSync(folder).filter((name) => name.endsWith('.test.mjs')).map((name) => at('tests', 'editor', name));
  const options = args.filter((arg) => arg !== '--bless');
  const child = spawn(process.execPath, ['--test', '--test-concurrency=1', ...options, ...(options.some((arg) => arg.endsWith('.mjs')) ? [] : files)], { env, stdio: 'inherit' });
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
});
