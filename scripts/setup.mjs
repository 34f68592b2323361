// Makes what a fresh clone lacks: the Python environment in .venv, the npm packages, the built extension.
// Quick when nothing is to be done.

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Stop, at, fingerprint, main, once, run, step } from './support/run.mjs';
import { preferred, pythonIn, venvWith } from './support/python.mjs';

const VENV = at('.venv');
const REQUIREMENTS = ['dev.txt', 'jax.txt', 'libraries.txt'].map((file) => at('requirements', file));

/** The project itself, installed so that edits take effect at once. */
const EDITABLE = {
  key: fingerprint(at('pyproject.toml')),
  install: (python) => run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--no-build-isolation', '--editable', at()]),
};

async function python() {
  const stamp = at('.venv', 'jaxscope-stamp');
  const wanted = fingerprint(...REQUIREMENTS, EDITABLE.key);
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted && fs.existsSync(pythonIn(VENV))) return;
  const candidates = await preferred();
  await step('Python environment in .venv', () => venvWith(VENV, REQUIREMENTS, candidates, EDITABLE));
}

async function packages() {
  const wanted = fingerprint(at('package-lock.json'));
  const stamp = at('node_modules', '.jaxscope-stamp');
  await once(stamp, wanted, () => step('npm packages', () => run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'])));
}

/** Sets everything up. Throws a Stop with what is missing on this machine. */
export async function setup() {
  const [major] = process.versions.node.split('.').map(Number);
  if (major < 20) throw new Stop(`Node 20 or newer is needed; this is ${process.version}.`);
  await python();
  await packages();
  await run(process.execPath, [at('esbuild.mjs')]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(setup);
