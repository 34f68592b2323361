"""What traced functions read from outside and that is another when the run has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxscope_worker.wire.messages import DeclaredSignature

from support import trace

HEAD = """
    import functools
    import jax
    import jax.numpy as jnp
    import numpy as np
"""
FORMS = {
    "global": (
        """
    scale = 0.5

    @jax.jit
    def f(x):
        return x * scale

    def main():
        global scale
        f(1.0)
        scale = 8.0
        f(1.0)
        """,
        ("f", "scale", "0.5", "8.0"),
    ),
    "cell, through grad and a nested function": (
        """
    def main():
        penalty = 1
        def cost(x):
            return jax.lax.fori_loop(0, 2, lambda i, c: c * penalty, x)
        slope = jax.jit(jax.grad(cost))
        slope(1.0)
        penalty = 2
        slope(1.0)
        """,
        ("main.<locals>.cost", "penalty", "1", "2"),
    ),
    "bound self": (
        """
    class C:
        def __init__(self):
            self.on = True

        def body(self, x):
            return x * 2 if self.on else x

    c = C()

    def main():
        f = jax.jit(c.body)
        f(1.0)
        c.on = False
        f(1.0)
        """,
        ("C.body", "self.on", "True", "False"),
    ),
    "static argument": (
        """
    class Option:
        level = 3

    o = Option()

    @functools.partial(jax.jit, static_argnames="option")
    def f(x, option):
        return x * option.level

    def main():
        f(1.0, option=o)
        o.level = 1
        """,
        ("f", "option.level", "3", "1"),
    ),
    "entry": (
        """
    stats = {"mean": 0.0, "std": 1.0}

    @jax.jit
    def f(x):
        return x - stats["mean"]

    def main():
        f(1.0)
        stats.update(mean=3.0, std=2.0)
        """,
        ("f", 'stats["mean"]', "0.0", "3.0"),
    ),
    "elements": (
        """
    table = np.zeros(3, np.float32)

    @jax.jit
    def f(x):
        return x + table

    def main():
        f(1.0)
        table[:] = 1.0
        """,
        ("f", "table", "", ""),
    ),
    "elements that the trace has made 32 bits wide": (
        """
    table = np.zeros(3)

    @jax.jit
    def f(x):
        return x + 2 * table

    def main():
        f(1.0)
        table[:] = 1.0
        """,
        ("f", "table", "", ""),
    ),
    "class attribute": (
        """
    class Options:
        level = 3

    @jax.jit
    def f(x):
        return x * Options.level

    def main():
        f(1.0)
        Options.level = 1
        """,
        ("f", "Options.level", "3", "1"),
    ),
    "key": (
        """
    key = jax.random.PRNGKey(0)

    @jax.jit
    def f():
        return jax.random.normal(key, (2,))

    def main():
        global key
        f()
        key = jax.random.split(key)[0]
        """,
        ("f", "key", "", ""),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_change_after_the_trace_is_seen(form: str, tmp_path: Path) -> None:
    text, expected = FORMS[form]
    reply = trace(tmp_path, {"program.py": HEAD + text}, entries=("main",))
    assert reply.failure is None
    assert [(one.function, one.name, one.then, one.now) for one in reply.changed] == [expected]
    assert reply.changed[0].depends is True


def test_what_stays_or_is_only_set_before_is_not_told(tmp_path: Path) -> None:
    text = """
    scale = None
    nan = float("nan")
    other = 1
    table = np.zeros(3, np.float32)
    objects = {"a": [1, 2]}

    @jax.jit
    def f(x, other):
        return x * scale + other + table + len(objects) + nan

    def main():
        global scale, other
        scale = 2.0
        f(1.0, other)
        other = 3
        f(1.0, other)
        objects["b"] = 3
    """
    assert trace(tmp_path, {"program.py": HEAD + text}, entries=("main",)).changed == ()


def test_what_is_traced_for_its_own_sake_changes_nothing(tmp_path: Path) -> None:
    program = """
    import jax

    count = 0

    @jax.jit
    def f(x):
        return x + count

    @jax.jit
    def never_called(x):
        global count
        count = count + 1
        return x

    def main():
        f(1.0)
    """
    guess = DeclaredSignature("never_called", "", "guess")
    reply = trace(tmp_path, {"program.py": program}, entries=("main",), declared=(guess,))
    assert {one.function for one in reply.functions} == {"f", "never_called"}
    assert reply.changed == ()
