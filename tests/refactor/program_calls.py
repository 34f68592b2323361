"""How random programs call their function, in ways that compose with every capture, signature, transform and layout.

In the templates `{i}` stands for one indent, `{f}` for the function, `{first}` for the arguments of its first call.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Way:
    """Definitions before the call, and the call; files that are added."""

    kind: str
    before: str
    call: str
    alone: bool = False
    """It gives one argument only, an array, and takes another for the result."""
    traced: bool = False
    """All arguments are traced, which static ones cannot be, and given by position."""
    modules: dict[str, str] = field(default_factory=dict)
    """They import the function, which must be a global then."""

    def fits(self, first: str, statics: str, simple: bool, outside: bool) -> bool:
        """Can a program with such a call and such static parameters hold it? `simple`: the result is one array;
        `outside`: other files can import the function."""
        plain = not statics and "=" not in first
        if (self.alone and not (simple and first == "a")) or (self.traced and not plain):
            return False
        return outside or not self.modules


_DATACLASS = "@dataclasses.dataclass\nclass Ops:\n{i}step: object\n{i}scale: float = 2.0\n\n\nops = Ops({f})\n\n\n"
_OBJECT = "class Kept:\n{i}def __init__(self):\n{i}{i}self.step = {f}\n\n\nkept = Kept()\n\n\n"
_POOLED = "def pooled(pool: ThreadPoolExecutor, a, b):\n{i}return pool.submit({f}, {first}).result()\n\n\n"
_POOL = "def pool(a, b):\n{i}with ThreadPoolExecutor(1) as run:\n{i}{i}return list(run.map({f}, [a, a + 1]))\n\n\n"
_COMPILED = "@jax.jit\ndef outer3(a, b):\n{i}return "
_BETWEEN = "branches = [{f}, {f}]\n\n\n" + _COMPILED + "lax.switch(1, branches, {first})\n\n\n"
_MIXED = (
    "branches2 = [{f}, lambda v: v + 1.0]\n\n\n" + _COMPILED.replace("3", "4") + "lax.switch(0, branches2, a)\n\n\n"
)
_LOCAL = _COMPILED.replace("3", "5") + "lax.cond(a.sum() > 0, {f}, {f}, {first})\n\n\n"
_HELD = (
    "held = {{'one': {f}, 'two': {f}}}\n\n\n"
    + _COMPILED.replace("3", "6")
    + ("lax.cond(a.sum() > 0, held['one'], held['two'], {first})\n\n\n")
)
_THERE = "def there(a, b):\n{i}from use import used\n\n{i}return used(a, b)\n\n\n"
_THERE2 = "def there2(a, b):\n{i}import use2\n\n{i}return use2.used(a, b)\n\n\n"
_USE = "from case import {f}\n\n\ndef used(a, b):\n    return {f}({first})\n"
_USE_MODULE = "import case\n\n\ndef used(a, b):\n    return [case.{f}({first}) for _ in range(1)]\n"

WAYS = (
    Way("eager helper", "def eager(a, b):\n{i}return {f}({first})\n\n\n", "eager(a, b)"),
    Way(
        "jitted caller",
        "@jax.jit\ndef outer(a, b):\n{i}return jax.tree.map(jnp.sin, {f}({first}))\n\n\n",
        "outer(a, b)",
    ),
    Way(
        "jitted twice",
        "@jax.jit\ndef outer2(a):\n{i}return step2(a)\n\n\ndef step2(a):\n{i}return {f}({first})\n\n\n",
        "outer2(a)",
    ),
    Way("thread", "", "asyncio.run(asyncio.to_thread({f}, {first}))"),
    Way("partial", "", "partial({f}, {first})()"),
    Way("lambda", "", "(lambda a: {f}({first}))(a)"),
    Way("comprehension", "", "[{f}({first}) for a in A]"),
    Way("named", "h = {f}\n\n\n", "h({first})"),
    Way("loop", "def looped(a, b):\n{i}for _ in range(2):\n{i}{i}r = {f}({first})\n{i}return r\n\n\n", "looped(a, b)"),
    Way("shadowed", "def shadow(a, b, W=None):\n{i}return {f}({first})\n\n\n", "shadow(a, b)"),
    Way("eval_shape", "", "jax.eval_shape({f}, {first}) is not None"),
    Way("vmapped lambda", "", "jax.vmap(lambda a: {f}({first}))(A)"),
    Way("stored", "", "[{f}][0]({first})"),
    Way("table", "TABLE = {{'go': {f}, 'other': jnp.sin}}\n\n\n", "TABLE['go']({first})"),
    Way("any key", "jobs = {{'one': {f}, 'two': {f}}}\n\n\n", "[job({first}) for job in jobs.values()]"),
    Way("loop over functions", "", "[go({first}) for go in ({f}, {f})]"),
    Way("loop over mixed", "", "[go(a) for go in ({f}, jnp.sin)]", alone=True),
    Way("filled list", "STEPS = []\nSTEPS.append({f})\n\n\n", "[step({first}) for step in STEPS]"),
    Way("filled mapping", "named = {{}}\nnamed['go'] = {f}\n\n\n", "named['go']({first})"),
    Way("pair", "one, two = {f}, {f}\n\n\n", "two({first})"),
    Way("data class", _DATACLASS, "[ops.step({first}), dataclasses.replace(ops, scale=3.0).step({first})]"),
    Way("object", _OBJECT, "kept.step({first})"),
    Way("calls a function", "def apply(fn, *v, **k):\n{i}return fn(*v, **k)\n\n\n", "apply({f}, {first})"),
    Way("calls it twice", "def twice(fn, x):\n{i}return fn(fn(x))\n\n\n", "twice({f}, a)", alone=True),
    Way("returned", "def given():\n{i}return {f}\n\n\n", "given()({first})"),
    Way("submit", _POOLED, "pooled(ThreadPoolExecutor(1), a, b)"),
    Way("pool", _POOL, "pool(a, b)", alone=True),
    Way("map", "", "list(map({f}, [a, a + 1]))", alone=True),
    Way("branches", _BETWEEN, "outer3(a, b)", traced=True),
    Way("mixed branches", _MIXED, "outer4(a, b)", alone=True, traced=True),
    Way("cond", _LOCAL, "outer5(a, b)", traced=True),
    Way("branches of a mapping", _HELD, "outer6(a, b)", traced=True),
    Way("conditional", "", "({f} if len(A) else jnp.sin)({first})"),
    Way("other file", _THERE, "there(a, b)", modules={"use": _USE}),
    Way("other file by module", _THERE2, "there2(a, b)", modules={"use2": _USE_MODULE}),
)

KEPT = (
    ("list", "kept_in = [jnp.sin, jax.jit({f})]\n", "kept_in[1]"),
    ("mapping", "kept_in = {{'step': jax.jit({f}), 'plain': {f}}}\n", "kept_in['step']"),
    ("pair", "g, other = jax.jit({f}), jax.jit({f})\n", "g"),
    ("object", "class Holder:\n    step = None\n\n\nholder = Holder()\nholder.step = jax.jit({f})\n", "holder.step"),
    ("filled", "kept_in = {{}}\nkept_in['step'] = jax.jit({f})\n", "kept_in['step']"),
)
"""Where the compiled function is kept: the kind, statements, how it is called."""
