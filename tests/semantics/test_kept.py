"""What is kept from one version of a file to the next gives the same as starting over."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxscope.config import Config
from jaxscope.rules.base import Context, judge
from jaxscope.semantics.project import Project

PARTS = [
    "import jax\nimport jax.numpy as jnp\nfrom functools import partial\nimport other\n",
    "N = 1024\n",
    "N = 512\n",
    "N = 3\n",
    "W = jnp.zeros((N, 1024))\n",
    "W = jnp.zeros((N, 1024), dtype=jnp.int8)\n",
    "W = other.TABLE\n",
    "compiled = jax.jit\n",
    "compiled = partial(jax.jit, static_argnums=0)\n",
    "def helper(x):\n    return x @ W\n",
    "@jax.jit\ndef helper(x):\n    return x @ W\n",
    "@jax.jit\ndef f(x):\n    return helper(x) + 1\n",
    "@compiled\ndef g(n, x=W):\n    return x @ W\n",
    "class M:\n    def __init__(self, n):\n        self.w = jnp.zeros((n, 1024))\n\n"
    "    @partial(jax.jit, static_argnums=0)\n    def step(self, x):\n        return self.w @ helper(x)\n",
    "m = M(1024)\n",
    "m = M(N)\n",
    "m2 = M(4)\n",
    "def make(n):\n    t = jnp.zeros((n, 1024))\n\n    def inner(x):\n        return t @ x\n\n    return inner\n",
    "h = jax.jit(make(N))\n",
    "def outer(x):\n    s = x * 2\n    return jax.jit(lambda v: v + s)(W)\n",
    "y = outer(W)\n",
    "k = jax.jit(outer)\n",
    "y = jnp.ones((600, 600))\nfor _ in range(3):\n    y = f(y)\n",
    "def train():\n    y = jnp.ones((600, 600))\n    for _ in range(3):\n        y = f(y)\n    return y\n",
    "@partial(jax.jit, donate_argnums=0)\ndef f(x):\n    return x * N\n",
    "def f(x):\n    return x * N\n",
    "def save():\n    LOG.append(y)\n",
    "LOG = []\n",
    "@jax.jit\ndef log(x):\n    LOG.append(x)\n    print(x, N)\n    return x\n",
    "def run():\n    global N\n    a = f(1.0)\n    N = 2\n    return a + f(1.0)\n",
    "run()\n",
    "for i in range(3):\n    jax.jit(lambda v: v + i)(i)\n",
    "def clear():\n    LOG.clear()\n    m.w = 3\n",
    "log(2)\nclear()\nlog(2)\n",
    "@jax.jit\ndef late(x):\n    return x @ other.LATE\n",
    "layers = []\nfor _ in range(3):\n    layers.append(jnp.zeros((N, 512)))\n",
    "layers = [jnp.zeros((N, 512))] * 3\n",
    "layers.pop()\n",
    "del layers[0]\n",
    "layers += [W]\n",
    "same = layers\nsame.clear()\n",
    "def shorten(many):\n    many.pop()\n",
    "shorten(layers)\n",
    "@jax.jit\ndef total(x):\n    return x + sum(one.sum() for one in layers)\n",
    "@jax.jit\ndef run_it(model, x):\n    return model.step(x) + model.other(x)\n",
    "run_it(m, 1.0)\n",
    "class Q(M):\n    def other(self, x):\n        return x @ W\n\n\nm = Q(3)\n",
    "# a comment\n\n",
    "print('é')\n",
]
OTHER = ["import jax.numpy as jnp\nTABLE = jnp.zeros((1024, 1024))\n", "TABLE = 3\nLATE = None\n"]
THIRD = ["import other\n", "import jax.numpy as jnp\nimport other\nother.LATE = jnp.zeros((1024, 1024))\n"]

versions = st.lists(
    st.tuples(
        st.integers(0, 30), st.sampled_from(["insert", "delete", "replace", "other", "third"]), st.sampled_from(PARTS)
    ),
    min_size=1,
    max_size=8,
)


def findings(project: Project, path: str) -> list[object]:
    model = project.model(path)
    assert model is not None
    return [model.traced, [repr(f) for f in judge(model, Context(Config(), project)).findings]]


@given(st.lists(st.sampled_from(PARTS), min_size=3, max_size=14), versions)
@settings(max_examples=250, deadline=None)
def test_kept_facts_are_right(parts: list[str], changes: list[tuple[int, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, second, third = (str(Path(folder, name)) for name in ("case.py", "other.py", "third.py"))
        parts = [PARTS[0], *parts]
        other, more = OTHER[0], THIRD[0]
        kept = Project(folder)
        kept.set_text(second, other)
        kept.set_text(path, "".join(parts))
        findings(kept, path)
        for at, what, part in changes:
            at %= len(parts)
            if what == "other":
                other = OTHER[1 - OTHER.index(other)]
                kept.set_text(second, other)
            elif what == "third":
                more = THIRD[1 - THIRD.index(more)]
                kept.set_text(third, more)
            else:
                parts[at : at + (what != "insert")] = [part] if what != "delete" else []
                parts = parts or [PARTS[0]]
                kept.set_text(path, "".join(parts))
            fresh = Project(folder)
            fresh.set_text(second, other)
            fresh.set_text(third, more)
            fresh.set_text(path, "".join(parts))
            assert findings(kept, path) == findings(fresh, path)
