// Runs other programs for the scripts: quietly by default, with their output shown only when they fail.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
export const WINDOWS = process.platform === 'win32';

/** A path below the repository's root. */
export const at = (...parts) => path.join(ROOT, ...parts);

/** Something the user can act on: printed without a stack. */
export class Stop extends Error {}

/**
 * Runs a program to its end and returns {code, output}; output is empty when `show` passes it through.
 * With `check` (the default) a non-zero status throws a Stop that carries the tail of the output.
 */
export function run(command, args, { cwd = ROOT, env = process.env, show = false, check = true, timeout = 0 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd, env, shell: WINDOWS && /npm(\.cmd)?$/.test(command), stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    });
    const chunks = [];
    child.stdout?.on('data', (data) => chunks.push(data));
    child.stderr?.on('data', (data) => chunks.push(data));
    const clock = timeout ? setTimeout(() => child.kill('SIGKILL'), timeout * 1000) : undefined;
    child.once('error', (error) => { clearTimeout(clock); reject(new Stop(`${command} did not start: ${error.message}`)); });
    child.once('close', (code, signal) => {
      clearTimeout(clock);
      const output = Buffer.concat(chunks).toString();
      if (check && code !== 0) {
        const tail = output.trimEnd().split('\n').slice(-40).join('\n');
        reject(new Stop(`${path.basename(command)} ${args.join(' ')}\nended with ${signal ?? code}\n${tail}`));
      } else resolve({ code: code ?? 1, output });
    });
  });
}

/** Prints what is being done, with the seconds it took once it is done. */
export async function step(title, work) {
  const start = Date.now();
  process.stdout.write(`  ${title} ... `);
  try {
    const result = await work();
    console.log(`${((Date.now() - start) / 1000).toFixed(1)} s`);
    return result;
  } catch (error) {
    console.log('failed');
    throw error;
  }
}

/** A hash of texts and of the contents of files; a file that is missing counts as empty. */
export function fingerprint(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) {
    if (fs.existsSync(part) && fs.statSync(part).isFile()) hash.update(fs.readFileSync(part));
    else hash.update(String(part));
    hash.update('\0');
  }
  return hash.digest('hex');
}

/** Does the work unless the stamp file says that it was done for the same fingerprint. */
export async function once(stamp, wanted, work) {
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return false;
  fs.rmSync(stamp, { force: true });
  await work();
  fs.mkdirSync(path.dirname(stamp), { recursive: true });
  fs.writeFileSync(stamp, wanted);
  return true;
}

/** Finds a program on PATH, or returns undefined. */
export function onPath(name) {
  const endings = WINDOWS ? ['.exe', '.cmd', ''] : [''];
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    for (const ending of endings) {
      const file = path.join(folder || '.', name + ending);
      try {
        fs.accessSync(file, fs.constants.X_OK);
        if (fs.statSync(file).isFile()) return file;
      } catch { /* not here */ }
    }
  }
  return undefined;
}

/** Runs a script's main function; a Stop is printed as its message alone. */
export async function main(work) {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    console.error(error instanceof Stop ? `\n${error.message}` : error);
    process.exitCode = 1;
  }
}
