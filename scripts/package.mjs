// Packs the extension with its server into jaxscope-VERSION.vsix: what is laid out in build/vsix/ is what is shipped.
// The server's dependencies are pure Python, so one package serves every system and every Python from 3.10 on.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Stop, at, fingerprint, main, once, run, step } from './support/run.mjs';
import { pythonIn } from './support/python.mjs';
import { setup } from './setup.mjs';

const STAGE = at('build', 'vsix');
const DEPENDENCIES = at('build', 'bundled');

/** Fetches the server's pinned dependencies as wheels for any system. */
async function fetchDependencies() {
  fs.rmSync(DEPENDENCIES, { recursive: true, force: true });
  await run(pythonIn(at('.venv')), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes', '--no-deps', '--no-compile',
    '--only-binary=:all:', '--platform', 'any', '--implementation', 'py', '--abi', 'none', '--python-version', '3.10',
    '--target', DEPENDENCIES, '-r', at('requirements', 'bundled.txt')]);
}

const shipped = (source) => {
  const name = path.basename(source);
  return name !== '__pycache__' && name !== 'bin' && !/\.(pyc|pyo|so|pyd)$/.test(name);
};

function copy(from, to) {
  fs.cpSync(from, path.join(STAGE, to), { recursive: true, filter: shipped });
}

/** The manifest as the editor reads it: without what only a checkout needs. */
function manifest() {
  const whole = JSON.parse(fs.readFileSync(at('package.json'), 'utf8'));
  for (const field of ['scripts', 'dependencies', 'devDependencies', 'private', 'files']) delete whole[field];
  return whole;
}

/** Relative paths that the manifest names (icons, grammars, walkthrough pictures), so that they are shipped too. */
function filesNamedIn(value) {
  if (typeof value === 'string') return /^\.?\/?[\w./-]+\.\w+$/.test(value) && fs.existsSync(at(value)) && fs.statSync(at(value)).isFile() ? [path.normalize(value)] : [];
  if (value && typeof value === 'object') return Object.values(value).flatMap(filesNamedIn);
  return [];
}

/** Pictures of the repository that a Markdown file shows. */
function picturesOf(file) {
  const shown = [...fs.readFileSync(at(file), 'utf8').matchAll(/!\[[^\]]*\]\(([\w./-]+)\)/g)].map(([, name]) => name);
  const missing = shown.find((name) => !fs.existsSync(at(name)));
  if (missing) throw new Stop(`${file} shows ${missing}, which does not exist.`);
  return new Set(shown);
}

function layOut() {
  fs.rmSync(STAGE, { recursive: true, force: true });
  fs.mkdirSync(STAGE, { recursive: true });
  const described = manifest();
  fs.writeFileSync(path.join(STAGE, 'package.json'), JSON.stringify(described, undefined, 2) + '\n');
  for (const file of ['README.md', 'CHANGELOG.md', 'LICENSE', ...new Set(filesNamedIn(described))]) copy(at(file), file);
  for (const file of fs.readdirSync(at('dist'))) if (!file.endsWith('.map')) copy(at('dist', file), path.join('dist', file));
  for (const picture of picturesOf('README.md')) copy(at(picture), picture);
  copy(DEPENDENCIES, 'bundled');
  copy(at('server', 'jaxscope'), 'bundled/jaxscope');
  copy(at('server', 'run_jaxscope.py'), 'bundled/run_jaxscope.py');
}

/** Packs, and returns the path of the .vsix. */
export async function pack() {
  const { version } = JSON.parse(fs.readFileSync(at('package.json'), 'utf8'));
  const vsix = at(`jaxscope-${version}.vsix`);
  const requirements = at('requirements', 'bundled.txt');
  await once(at('build', 'bundled-stamp'), fingerprint(requirements), () => step("fetching the server's dependencies", fetchDependencies));
  await step('packing the extension', async () => {
    await run(process.execPath, [at('esbuild.mjs'), '--minify']);
    layOut();
    const vsce = at('node_modules', '@vscode', 'vsce', 'vsce');
    if (!fs.existsSync(vsce)) throw new Stop('@vscode/vsce is not installed: run npm ci.');
    await run(process.execPath, [vsce, 'package', '--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links', '--out', vsix], { cwd: STAGE });
  });
  return vsix;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    await setup();
    const vsix = await pack();
    console.log(`\n${path.relative(process.cwd(), vsix)}: ${(fs.statSync(vsix).size / 2 ** 20).toFixed(1)} MiB`);
  });
}
