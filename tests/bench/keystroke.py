"""Time from a single-character edit to the static findings: `python tests/bench/keystroke.py [LINES] [EDITS]`.

Prints the median and the 95th percentile in milliseconds as one JSON object. Every edit is undone by the next one, so
broken states, which typing is full of, are measured as often as whole ones.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from jaxscope.config import Config
from jaxscope.rules.base import Context, judge
from jaxscope.semantics.project import Project

HEAD = '''"""A module made for timing: layers, losses, steps and samplers, numbered."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

WIDTH = 512
TABLE = jnp.linspace(0.0, 1.0, 4096).reshape(64, 64)
rng = np.random.default_rng(0)
'''

FAMILIES = [
    '''

KERNEL_{n} = jnp.asarray(rng.normal(size=(WIDTH, WIDTH)).astype(np.float32))


@jax.jit
def dense_{n}(x, b):
    """Affine map {n}."""
    y = x @ KERNEL_{n} + b
    gate = jax.nn.sigmoid(y * {k}.0)
    return jnp.tanh(y) * gate
''',
    '''

@functools.partial(jax.jit, static_argnames=("power",))
def loss_{n}(w, target, power=2):
    """Loss {n}; reads a small table."""
    guess = TABLE @ w
    error = guess - target
    total = jnp.sum(jnp.abs(error) ** power)
    return total / ({k} + target.size)
''',
    '''

def rollout_{n}(h, xs):
    """Recurrence {n}."""

    def cell(carry, x):
        carry = jnp.tanh(carry + x * {k})
        return carry, carry

    last, trace = lax.scan(cell, h, xs)
    return trace


step_{n} = jax.jit(jax.vmap(rollout_{n}, in_axes=(0, None)))
''',
    '''

class Block{n}:
    """Two projections."""

    def __init__(self, width=8):
        self.width = width
        self.weights = np.zeros((width, 8 * width), dtype=np.float32)

    def norm(self, x):
        mean = x.mean(axis=-1, keepdims=True)
        return (x - mean) * lax.rsqrt(jnp.square(x - mean).mean() + 1e-6)

    @functools.partial(jax.jit, static_argnums=0)
    def __call__(self, x):
        h = self.norm(x) @ self.weights
        return jax.nn.gelu(h)


block_{n} = Block{n}(64)
''',
]


def text_of(lines: int) -> str:
    """A module of about `lines` lines."""
    text, number = HEAD, 0
    while text.count("\n") < lines:
        text += FAMILIES[number % len(FAMILIES)].format(n=number, k=number % 7 + 1)
        number += 1
    return text


def main() -> None:
    lines, edits = (int(word) for word in [*sys.argv[1:], "2000", "300"][:2])
    text, chance = text_of(lines), random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "big.py"))
        project = Project(folder)
        context = Context(Config(), project)
        started = time.process_time()
        project.set_text(path, text)
        first = len(judge(project.model(path), context).findings)
        opened = time.process_time() - started
        times = []
        for _ in range(edits // 2):
            at = chance.randrange(len(text))
            for now in (text[:at] + chance.choice("x1( )=:\n\"'#") + text[at:], text):
                started = time.process_time()
                project.set_text(path, now)
                judge(project.model(path), context)
                times.append((time.process_time() - started) * 1e3)
    times.sort()
    result = {
        "lines": text.count("\n"),
        "findings": first,
        "edits": len(times),
        "first_ms": round(opened * 1e3, 1),
        "p50_ms": round(times[len(times) // 2], 2),
        "p95_ms": round(times[int(len(times) * 0.95)], 2),
        "worst_ms": round(times[-1], 2),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
