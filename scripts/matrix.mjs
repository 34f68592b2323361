// Runs the worker's tests on every supported JAX for which this machine has a Python, each in its own environment in
// .venvs/; on the newest, those with the libraries on JAX as well. The server never meets those versions; only the
// worker, which runs in the user's interpreter, does.

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { at, main, run, step } from './support/run.mjs';
import { interpreters, venvWith } from './support/python.mjs';
import { counted, summary } from './support/counting.mjs';

const MATRIX = [
  { jax: '0.4.30', pythons: ['3.10'], requirements: 'jax0.4.30-py3.10.txt' },
  { jax: '0.6.2', pythons: ['3.11'], requirements: 'jax0.6.2-py3.11.txt' },
  { jax: '0.10.2', pythons: ['3.11'], requirements: 'jax0.10.2-py3.11.txt' },
  { jax: '0.12', pythons: ['3.13', '3.12'], requirements: 'jax0.12.txt', libraries: 'libraries0.12.txt' },
];

const ABREAST = 2;

/** The environment of one cell, or why there is none. */
async function prepare({ jax, pythons, requirements, libraries }, found) {
  const version = pythons.find((one) => found[one]);
  const name = `worker on JAX ${jax}`;
  if (!version) return { name, passed: 0, failed: 0, skipped: 0, notRun: `no Python ${pythons.join(' or ')} was found` };
  const label = `jax${jax}-py${version}`;
  const files = [requirements, libraries].filter(Boolean).map((file) => at('requirements', 'matrix', file));
  const python = await step(`environment ${label}`, () => venvWith(at('.venvs', label), files, found[version]));
  const tests = ['worker', 'parity', ...(libraries ? ['libraries'] : [])].map((folder) => at('tests', folder));
  return { name: `${name}, Python ${version}`, label, python, tests };
}

async function test({ name, label, python, tests, ...rest }) {
  if (!python) return { name, ...rest };
  const start = Date.now();
  const report = at('test-results', `matrix-${label}.xml`);
  fs.rmSync(report, { force: true });
  const env = { ...process.env, PYTHONPATH: at('server'), PYTHONDONTWRITEBYTECODE: '1' };
  const { code, output } = await run(python, ['-m', 'pytest', ...tests, '-p', 'no:cacheprovider', `--junitxml=${report}`], { env, check: false, timeout: 1800 });
  const seconds = (Date.now() - start) / 1000;
  console.log(`  ${name}: ${code === 0 ? 'ok' : 'failed'}, ${seconds.toFixed(1)} s`);
  if (code !== 0) console.log(output);
  return { name, seconds, ...counted(report, code) };
}

/** Runs the cells, a few at once, and returns their results in order. */
async function testAll(cells) {
  const results = [];
  const waiting = cells.entries();
  const lane = async () => { for (const [index, cell] of waiting) results[index] = await test(cell); };
  await Promise.all(Array.from({ length: ABREAST }, lane));
  return results;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    console.log('The worker on every supported JAX');
    const found = await interpreters();
    fs.mkdirSync(at('test-results'), { recursive: true });
    const cells = [];
    for (const entry of MATRIX) cells.push(await prepare(entry, found));
    return summary(await testAll(cells));
  });
}
