// Programs that tell by a file in the temporary folder that they were run. The side-effect guard lets that be written.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const fileOf = (name) => path.join(os.tmpdir(), `jaxscope-editor-test-${name}-${process.pid}`);

/** `marker.py`, which leaves its mark when it is imported, and has a captured array that the source alone shows. */
export function markers(name) {
  fs.rmSync(fileOf(name), { force: true });
  process.once('exit', () => fs.rmSync(fileOf(name), { force: true }));
  return {
    'marker.py': `from pathlib import Path

import jax
import jax.numpy as jnp

Path(${JSON.stringify(fileOf(name))}).write_text("ran")
TABLE = jnp.ones((512, 1024))


# jaxscope: f32[1024]
@jax.jit
def look(x):
    return TABLE @ x
`,
  };
}

/** Has the program of this name run? */
export const ranMarker = (name) => fs.existsSync(fileOf(name));
