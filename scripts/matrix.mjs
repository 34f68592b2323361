// Runs the worker's tests on every supported JAX for which this machine has a Python, each in its own environment in
// .venvs/. The server never meets those versions; only the worker, which runs in the user's interpreter, does.

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { at, main, run, step } from './support/run.mjs';
import { interpreters, venvWith } from './support/python.mjs';
import { counted, summary } from './support/counting.mjs';

const MATRIX = [
  { jax: '0.4.30', pythons: ['3.10'], requirements: 'jax0.4.30-py3.10.txt' },
  { jax: '0.6.2', pythons: ['3.11'], requirements: 'jax0.6.2-py3.11.txt' },
  { jax: '0.10.2', pythons: ['3.11'], requirements: 'jax0.10.2-py3.11.txt' },
  { jax: '0.12', pythons: ['3.13', '3.12'], requirements: 'jax0.12.txt' },
];

async function cell({ jax, pythons, requirements }, found) {
  const version = pythons.find((one) => found[one]);
  const name = `worker on JAX ${jax}`;
  if (!version) return { name, passed: 0, failed: 0, skipped: 0, notRun: `no Python ${pythons.join(' or ')} was found` };
  const label = `jax${jax}-py${version}`;
  const python = await step(`environment ${label}`, () => venvWith(at('.venvs', label), [at('requirements', 'matrix', requirements)], found[version]));
  const report = at('test-results', `matrix-${label}.xml`);
  fs.rmSync(report, { force: true });
  const env = { ...process.env, PYTHONPATH: at('server'), PYTHONDONTWRITEBYTECODE: '1' };
  const { code, output } = await step(`${name}, Python ${version}`, () =>
    run(python, ['-m', 'pytest', at('tests', 'worker'), '-p', 'no:cacheprovider', `--junitxml=${report}`], { env, check: false, timeout: 600 }));
  if (code !== 0) console.log(output);
  return { name: `${name}, Python ${version}`, ...counted(report, code) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    console.log('The worker on every supported JAX');
    const found = await interpreters();
    const results = [];
    for (const entry of MATRIX) results.push(await cell(entry, found));
    return summary(results);
  });
}
