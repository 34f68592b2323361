// Finds a Chromium for the editor tests, and installs Debian's where that is possible without asking.

import fs from 'node:fs';
import { onPath, run } from './run.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome', 'microsoft-edge'];
const ELSEWHERE = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe'];

/** Path of a browser on this machine, or undefined. The environment variable CHROMIUM names one. */
export function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  return NAMES.map(onPath).find(Boolean) ?? ELSEWHERE.find((file) => fs.existsSync(file));
}

/** Finds or installs a browser. Returns {path} or {reason} when there is none to be had. */
export async function ensureChromium(say = (title, work) => work()) {
  const found = findChromium();
  if (found) return { path: found };
  if (process.getuid?.() !== 0 || !onPath('apt-get')) return { reason: 'no Chromium or Chrome was found, and without root and apt none can be installed' };
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await say('installing Chromium by apt', async () => {
      await run('apt-get', ['update', '-q'], { env });
      await run('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'chromium', 'fonts-dejavu-core', 'fonts-liberation'], { env });
    });
  } catch (error) {
    return { reason: `no Chromium was found, and apt could not install it: ${error.message.split('\n').pop()}` };
  }
  const path = findChromium();
  return path ? { path } : { reason: 'apt installed no Chromium under a name that is known here' };
}
