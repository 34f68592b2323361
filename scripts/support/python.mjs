// Finds the machine's Python interpreters and makes virtual environments from pinned requirements.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { WINDOWS, Stop, fingerprint, once, onPath, run } from './run.mjs';

const PREFERRED = ['3.12', '3.11', '3.13', '3.10'];

function pyenvVersions() {
  const folder = path.join(process.env.PYENV_ROOT ?? path.join(os.homedir(), '.pyenv'), 'versions');
  if (!fs.existsSync(folder)) return [];
  return fs.readdirSync(folder).map((name) => path.join(folder, name, 'bin', 'python'));
}

/** Version "3.11" of an interpreter that runs and can make virtual environments, else undefined. */
async function versionOf(python) {
  if (path.isAbsolute(python) ? !fs.existsSync(python) : !onPath(python)) return undefined;
  const code = 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])';
  try {
    const { code: status, output } = await run(python, ['-c', code], { check: false, timeout: 30 });
    return status === 0 ? output.trim().split('\n').pop() : undefined;
  } catch {
    return undefined;
  }
}

/** All usable interpreters by version, `{'3.11': [paths]}`. A shim that names nothing is not usable: each is run. */
export async function interpreters() {
  const names = [...PREFERRED.map((version) => `python${version}`), ...pyenvVersions(), 'python3', 'python'];
  const found = {};
  const versions = await Promise.all(names.map(versionOf));
  names.forEach((name, index) => { if (versions[index]) (found[versions[index]] ??= []).push(name); });
  return found;
}

/** Path of the python of a virtual environment. */
export const pythonIn = (venv) => (WINDOWS ? path.join(venv, 'Scripts', 'python.exe') : path.join(venv, 'bin', 'python'));

/** Makes the virtual environment with the first of the interpreters that manages to. */
async function makeVenv(venv, candidates) {
  let failure;
  for (const python of candidates) {
    try {
      fs.rmSync(venv, { recursive: true, force: true });
      await run(python, ['-m', 'venv', venv]);
      return;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Installs pinned requirements. The hashes are checked, and nothing is built from source. */
export async function pipInstall(python, requirements, more = []) {
  const files = requirements.flatMap((file) => ['-r', file]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes', '--only-binary=:all:', ...files, ...more]);
}

/** A virtual environment that has these requirements; made or mended where needed. Returns its python. */
export async function venvWith(venv, requirements, candidates, afterwards) {
  const python = pythonIn(venv);
  const usable = fs.existsSync(python) && (await versionOf(python));
  const wanted = fingerprint(...requirements, afterwards?.key ?? '');
  if (!usable) await makeVenv(venv, candidates);
  await once(path.join(venv, 'jaxscope-stamp'), wanted, async () => {
    await pipInstall(python, requirements);
    await afterwards?.install(python);
  });
  return python;
}

/** Interpreters to make the project's own environment with, the preferred first. */
export async function preferred() {
  const found = await interpreters();
  const chosen = PREFERRED.flatMap((version) => found[version] ?? []);
  if (chosen.length === 0) {
    throw new Stop('No Python from 3.10 to 3.13 that can make virtual environments was found. Install python3 with its venv module, then run this again.');
  }
  return chosen;
}
