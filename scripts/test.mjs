// `npm test`: sets up what lacks, then runs every check and test of the repository but the JAX matrix, and sums up.

import fs from 'node:fs';
import os from 'node:os';
import { at, main, run, step } from './support/run.mjs';
import { pythonIn } from './support/python.mjs';
import { ensureChromium } from './support/chromium.mjs';
import { counted, countedByNode, summary } from './support/counting.mjs';
import { ensureWorkbench, workbenchImpossible } from './support/workbench.mjs';
import { pack } from './package.mjs';
import { setup } from './setup.mjs';

const PYTHON = pythonIn(at('.venv'));
const node = process.execPath;
const NOTHING = { passed: 0, failed: 0, skipped: 0 };

/** Runs one command and takes its counts; its output is shown only when it fails. */
async function suite(name, command, args, count, options = {}) {
  const start = Date.now();
  process.stdout.write(`  ${name} ... `);
  const { code, output } = await run(command, args, { check: false, timeout: 2400, ...options });
  const counts = count(output, code);
  const seconds = (Date.now() - start) / 1000;
  console.log(`${counts.failed ? 'failed' : 'ok'}, ${seconds.toFixed(1)} s`);
  if (counts.failed) console.log(output);
  return { name, seconds, ...counts };
}

const one = (_, code) => ({ ...NOTHING, passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1 });

async function checks() {
  const tsc = at('node_modules', 'typescript', 'bin', 'tsc');
  const commands = [
    ['ruff check', PYTHON, ['-m', 'ruff', 'check', 'server', 'scripts', 'tests', 'examples']],
    ['ruff format', PYTHON, ['-m', 'ruff', 'format', '--check', 'server', 'scripts', 'tests', 'examples']],
    ['mypy', PYTHON, ['-m', 'mypy']],
    ['tsc client', node, [tsc, '--noEmit', '-p', 'client/src']],
    ['tsc webview', node, [tsc, '--noEmit', '-p', 'client/webview']],
    ['tsc tests', node, [tsc, '--noEmit', '-p', 'tests/webview']],
    ['generated files', PYTHON, ['scripts/generate.py', '--check']],
  ];
  const results = [];
  for (const [name, command, args] of commands) results.push(await suite(name, command, args, one));
  return results;
}

async function pytest(vsix) {
  const report = at('test-results', 'pytest.xml');
  fs.rmSync(report, { force: true });
  const parallel = os.availableParallelism() > 1 ? ['-n', '2', '--dist', 'loadfile'] : [];
  return suite('pytest', PYTHON, ['-m', 'pytest', at('tests'), ...parallel, `--junitxml=${report}`, '--ignore', at('tests', 'editor')], (_, code) => counted(report, code),
    { env: { ...process.env, JAXSCOPE_VSIX: vsix } });
}

async function editor(vsix) {
  const browser = await ensureChromium(step);
  const reason = browser.reason ?? workbenchImpossible();
  if (reason) return { name: 'editor', ...NOTHING, notRun: reason };
  await ensureWorkbench(step);
  const env = { ...process.env, JAXSCOPE_VSIX: vsix, CHROMIUM: browser.path };
  return suite('editor', node, [at('tests', 'editor', 'run.mjs')], countedByNode, { env });
}

await main(async () => {
  console.log('Setting up');
  await setup();
  const vsix = await pack();
  fs.mkdirSync(at('test-results'), { recursive: true });
  console.log('Checks');
  const results = await checks();
  console.log('Tests');
  results.push(await pytest(vsix));
  results.push(await suite('webview', node, [at('tests', 'webview', 'run.mjs')], countedByNode));
  results.push(await editor(vsix));
  return summary(results);
});
