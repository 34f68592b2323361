// `npm start`: sets up, packs the extension, shows what it finds in examples/, and opens them in VS Code: the one on
// PATH, else one from the npm registry on a loopback address. Ctrl-C ends it.

import fs from 'node:fs';
import path from 'node:path';
import { at, main, onPath, run, step } from './support/run.mjs';
import { pythonIn } from './support/python.mjs';
import { WORKBENCH, ensureWorkbench, startServer, workbenchImpossible } from './support/workbench.mjs';
import { pack } from './package.mjs';
import { setup } from './setup.mjs';

const EXAMPLES = at('examples');
const PORT = 8737;
const PYTHON = pythonIn(at('.venv'));

/** Prints what the command line says of the examples. Findings are what is wanted here, so its status is not looked at. */
async function showFindings() {
  console.log('\njaxscope check --trace examples/\n');
  await run(PYTHON, ['-m', 'jaxscope.cli.main', 'check', '--trace', '--python', PYTHON, 'examples/'], { show: true, check: false });
  console.log();
}

/** Tells the extension, for this folder, of the environment that has JAX. */
function nameInterpreter() {
  const file = path.join(EXAMPLES, '.vscode', 'settings.json');
  const settings = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
  if (settings['jaxscope.interpreter'] === PYTHON) return;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify({ ...settings, 'jaxscope.interpreter': PYTHON }, undefined, 2) + '\n');
}

async function openInstalled(code, vsix) {
  nameInterpreter();
  await step('installing the extension in VS Code', () => run(code, ['--install-extension', vsix, '--force']));
  await run(code, [EXAMPLES, path.join(EXAMPLES, 'whitener.py')]);
  console.log('VS Code is open on examples/. Look at the underlined name in whitener.py, and press Ctrl+. on it.');
}

async function serve(vsix) {
  await ensureWorkbench(step);
  const options = { root: path.join(WORKBENCH, 'start'), vsix, machine: { 'jaxscope.interpreter': PYTHON }, trust: false, folder: EXAMPLES };
  const server = await step('starting VS Code on loopback', () => startServer({ ...options, port: PORT }));
  console.log(`\nVS Code with jaxscope is at\n\n  http://127.0.0.1:${server.port}/\n`);
  console.log('Open it in a browser on this computer. Open whitener.py, look at the underlined name, and press Ctrl+. on it.\nShapes, programs and timings come once you trust the folder (Manage, in the bar at the top). Ctrl-C here ends it.');
  const ended = new Promise((resolve) => { for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => resolve('signal')); });
  if ((await Promise.race([ended, server.gone])) === 'signal') {
    await server.stop();
    console.log('\nStopped.');
    return 0;
  }
  console.log('The workbench ended by itself; its log is .workbench/start/server.log.');
  return 1;
}

await main(async () => {
  await setup();
  const vsix = await pack();
  await showFindings();
  const code = onPath('code');
  if (code) return openInstalled(code, vsix);
  const reason = workbenchImpossible();
  if (!reason) return serve(vsix);
  console.log(`No \`code\` on the PATH, and ${reason}. Install ${path.relative(process.cwd(), vsix)} in VS Code by hand (Extensions: Install from VSIX...).`);
  return 0;
});
