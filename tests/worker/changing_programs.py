"""Programs with values that change after a trace, and which of them the program depends on."""

from __future__ import annotations

HEAD = """
    import functools
    import random
    import jax
    import jax.numpy as jnp
    import numpy as np
"""


FORMS = {
    "a branch that never ran": (
        """
    flag, scale = False, 1.0

    @jax.jit
    def f(x):
        return x * scale if flag else x

    def main():
        global scale
        f(1.0)
        scale = 2.0
        """,
        {"f scale": False},
    ),
    "one that ran beside it": (
        """
    flag, scale, shift = False, 1.0, 1.0

    @jax.jit
    def f(x):
        return x * scale if flag else x + shift

    def main():
        global scale, shift
        f(1.0)
        scale = shift = 2.0
        """,
        {"f scale": False, "f shift": True},
    ),
    "another branch now": (
        """
    flag, scale, shift = False, 1.0, 1.0

    @jax.jit
    def f(x):
        return x * scale if flag else x + shift

    def main():
        global flag, scale, shift
        f(1.0)
        flag, scale, shift = True, 2.0, 2.0
        """,
        {"f flag": True, "f scale": False, "f shift": True},
    ),
    "printed only": (
        """
    step = 0

    @jax.jit
    def f(x):
        print("tracing in step", step)
        return x * 2

    def main():
        global step
        f(1.0)
        step = 1
        """,
        {"f step": False},
    ),
    "the result is not used": (
        """
    scale = 1.0

    @jax.jit
    def f(x):
        y = jnp.sin(x) * scale
        return x

    def main():
        global scale
        f(1.0)
        scale = 2.0
        """,
        {"f scale": False},
    ),
    "a compiled function inside, with a cache of its own": (
        """
    scale, unused = 1.0, 1.0

    @jax.jit
    def inner(x):
        return x * scale if x.ndim else x * unused

    @jax.jit
    def outer(x, y):
        return inner(x) + inner(y)

    def main():
        global scale, unused
        outer(jnp.ones(3), jnp.ones(1))
        scale = unused = 2.0
        """,
        {"inner scale": True, "inner unused": False},
    ),
    "two traces, of which one depends": (
        """
    scale = 1.0

    @jax.jit
    def f(x):
        return x * scale if x.ndim else x

    def main():
        global scale
        f(jnp.ones(()))
        f(jnp.ones(3))
        scale = 2.0
        """,
        {"f scale": True},
    ),
    "static and bound objects": (
        """
    class Model:
        def __init__(self):
            self.rate, self.depth, self.mode = 0.1, 2, "plain"

        @functools.partial(jax.jit, static_argnums=(0, 2))
        def step(self, x, twice=False):
            x = x * self.rate
            return x * self.depth if twice else x

    def main():
        model = Model()
        model.step(jnp.ones(3))
        model.rate, model.depth = 0.2, 3
        """,
        {"Model.step self.rate": True, "Model.step self.depth": False},
    ),
    "slots, of static and bound objects and of globals": (
        """
    class Slotted:
        __slots__ = ("scale", "shift", "call")

        def __init__(self):
            self.scale, self.shift = 1.0, 2.0

        @functools.partial(jax.jit, static_argnums=0)
        def static(self, x):
            return x * self.scale + self.shift

        def bound(self, x):
            return x - self.shift

    held = Slotted()

    @jax.jit
    def use(x):
        return x * held.scale if x.ndim else x + held.shift

    def main():
        slotted = Slotted()
        slotted.call = jax.jit(slotted.bound)
        for _ in range(2):
            slotted.static(1.0), slotted.call(1.0), use(1.0)
            slotted.shift = held.shift = held.scale = 3.0
        """,
        {
            "Slotted.static self.shift": True,
            "Slotted.bound self.shift": True,
            "use held.scale": False,
            "use held.shift": True,
        },
    ),
    "a cached property that is given another value": (
        """
    class Cached:
        base = 2.0

        @functools.cached_property
        def scale(self):
            return self.base * 2

        @functools.cached_property
        def other(self):
            return self.base * 3

        @functools.partial(jax.jit, static_argnums=0)
        def static(self, x):
            return x * self.scale + self.other if x.ndim == 0 else x * self.unread

    cached = Cached()

    def main():
        for _ in range(2):
            cached.static(1.0)
            cached.scale, cached.base = 9.0, 9.0
        """,
        {"Cached.static self.scale": True},
    ),
    "an array that changes in place and is not used": (
        """
    table, other, deep = np.zeros(3, np.float32), np.zeros(3), False

    @jax.jit
    def f(x):
        return x + other if deep else x + table

    def main():
        f(1.0)
        table[0] = other[0] = 1.0
        """,
        {"f table": True, "f other": False},
    ),
    "two names of one number": (
        """
    import sys
    scale = 1.0

    @jax.jit
    def inner(x):
        return x * scale

    @jax.jit
    def outer(x):
        return inner(x) + scale

    def main():
        global scale
        outer(jnp.ones(3))
        scale = 2.0
        """,
        {"inner scale": True, "outer scale": True},
    ),
    "no two traces are the same": (
        """
    flag, scale = False, 1.0

    @jax.jit
    def f(x):
        x = x + random.random()
        return x * scale if flag else x

    def main():
        global scale
        f(1.0)
        scale = 2.0
        """,
        {"f scale": None},
    ),
    "something else has changed, that is not looked at": (
        """
    flag, scale, log = False, 1.0, []

    @jax.jit
    def f(x):
        return x * scale if flag else x + len(log)

    def main():
        global scale
        f(1.0)
        scale = 2.0
        log.append(1)
        """,
        {"f scale": None},
    ),
    "another function each time": (
        """
    scale = 1.0

    def main():
        global scale
        for scale in (1.0, 2.0, 3.0):
            jax.jit(lambda x: x * scale)(jnp.ones(3))
        """,
        {"main.<locals>.<lambda> scale": None},
    ),
    "traced again, since JAX has forgotten it": (
        """
    scale = 1.0

    @jax.jit
    def f(x):
        return x * scale

    def main():
        global scale
        for scale in (1.0, 2.0):
            f.clear_cache()
            f(jnp.ones(3))
        """,
        {"f scale": None},
    ),
    "in what a callback closes over": (
        """
    scale, unused = 1.0, 1.0

    @jax.jit
    def f(x):
        factor, other = scale, unused
        return jax.pure_callback(lambda v: v * np.float32(factor), jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    def main():
        global scale, unused
        f(jnp.ones(3))
        scale = unused = 2.0
        """,
        {"f scale": True, "f unused": False},
    ),
    "in a text that is printed at each call": (
        """
    scale = 1.0

    @jax.jit
    def f(x):
        jax.debug.print(f"{scale}" + ": {}", x)
        return x

    def main():
        global scale
        f(jnp.ones(3))
        scale = 2.0
        """,
        {"f scale": True},
    ),
    "objects that do not let themselves be looked at any more": (
        """
    class Proxy:
        bound = True

        @property
        def __class__(self):
            if not Proxy.bound:
                raise RuntimeError("out of context")
            return Proxy

        @property
        def __dict__(self):
            if not Proxy.bound:
                raise RuntimeError("out of context")
            return {"rate": 1.0}

        def __getattr__(self, name):
            return 1.0

    proxy, scale = Proxy(), 1.0

    @jax.jit
    def f(x):
        return x * scale * proxy.rate if proxy else x

    def main():
        global scale
        f(jnp.ones(3))
        Proxy.bound, scale = False, 2.0
        """,
        {"f scale": True},
    ),
    "fails with the new value": (
        """
    scale = 1.0

    @jax.jit
    def f(x):
        if scale > 1:
            raise SystemExit(3)
        return x * scale

    def main():
        global scale
        f(1.0)
        scale = 2.0
        """,
        {"f scale": None},
    ),
    "never ends with the new value": (
        """
    scale, other = 1.0, 1.0

    @jax.jit
    def f(x):
        while scale > 1:
            pass
        return x * scale

    @jax.jit
    def later(x):
        return x * other

    def main():
        global scale, other
        f(1.0)
        later(1.0)
        scale = other = 2.0
        """,
        {"f scale": None, "later other": None},
    ),
}
