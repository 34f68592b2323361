"""Tracers that outlive their trace are found, with the path to them; what is no leak is not."""

from __future__ import annotations

from pathlib import Path

from support import trace

LEAKS = """
    from collections import deque
    from functools import partial

    import jax
    import jax.numpy as jnp

    last = None
    CACHE = {}


    class Agent:
        total = None

        def __init__(self):
            self.hidden = None
            self.update = jax.jit(self._update)

        def _update(self, x):
            self.hidden = x * 2
            return x

        @partial(jax.jit, static_argnums=0)
        def step(self, x):
            Agent.total = x
            self.seen = {"x": x}
            return x


    def make(log):
        count = None

        @jax.jit
        def observe(x, kept=[]):
            nonlocal count
            count = x
            log.append(x)
            kept.append(x)
            return x

        return observe


    def table(n):
        if n not in CACHE:
            CACHE[n] = jnp.arange(n)
        return CACHE[n]


    @jax.jit
    def use(x):
        global last
        last = jax.grad(lambda y: jnp.sum(y * 2))(x)
        return x + table(3)


    def main():
        Agent().update(jnp.ones(2))
        Agent().step(jnp.ones((3, 2)))
        make(deque())(jnp.ones(4))
        use(jnp.ones(3))
"""

CLEAN = """
    import jax
    import jax.numpy as jnp

    log = []
    TABLE = {}


    class Acc:
        def __init__(self, x):
            self.x = x


    @jax.jit
    def inner(x):
        parts = [x, x * 2]
        acc = Acc(x)
        return sum(parts) + acc.x


    @jax.jit
    def outer(x):
        held = x * 2

        @jax.jit
        def nested(y):
            return y + held

        return nested(inner(x))


    def main():
        log.append(outer(jnp.ones(2)))
        TABLE["a"] = jnp.arange(3)

        def body(carry, x):
            step = jax.jit(lambda y: y + carry)
            return step(x), x

        jax.lax.scan(body, jnp.zeros(()), jnp.ones(4))
        jax.grad(lambda x: jax.jit(lambda y: y * x)(x))(2.0)
        jax.debug.callback(log.append, 1)
"""


def test_each_holder_is_told_with_the_path(tmp_path: Path) -> None:
    reply = trace(tmp_path, {"program.py": LEAKS}, entries=("main",))
    assert reply.failure is None
    found = {(leak.function, leak.name, leak.holder, leak.type) for leak in reply.leaks}
    assert found == {
        ("Agent._update", "self.hidden", "self", "f32[2]"),
        ("Agent.step", "self.seen['x']", "self", "f32[3,2]"),
        ("Agent.step", "Agent.total", "global", "f32[3,2]"),
        ("make.<locals>.observe", "count", "closure", "f32[4]"),
        ("make.<locals>.observe", "log[0]", "closure", "f32[4]"),
        ("make.<locals>.observe", "kept[0]", "default", "f32[4]"),
        ("use", "last", "global", "f32[3]"),
        ("use", "CACHE[3]", "global", "i32[3]"),
    }


def test_live_and_local_tracers_are_no_leaks(tmp_path: Path) -> None:
    reply = trace(tmp_path, {"program.py": CLEAN}, entries=("main",))
    assert reply.failure is None
    assert reply.leaks == ()
