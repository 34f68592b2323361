"""Draws random small programs in which a compiled function captures an array.

A program is built from independent choices: what is captured, the function's form and signature, where the read
stands, how the function is transformed and called, and how the text is laid out. `READ` marks the read.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

READ = "\x00"
HEAD = """\
import asyncio
import functools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
"""
ARRAY = "jnp.sin(jnp.arange(256.0)).reshape(16, 16)"


@dataclass(frozen=True)
class Program:
    """Texts by module name, and what a finding says of the captured array."""

    files: dict[str, str]
    function: str
    name: str
    line: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class Captured:
    """Where the array lives: statements before the function, the expression that reads it, other modules."""

    kind: str
    before: str
    expression: str
    name: str
    modules: dict[str, str]
    imports: str = ""


CAPTURES = (
    Captured("global", f"W = {ARRAY}\n", "W", "W", {}),
    Captured("numpy", "W = np.sin(np.arange(256, dtype=np.float32)).reshape(16, 16)\n", "W", "W", {}),
    Captured("container", f"W = [{ARRAY}, {ARRAY} + 1]\n", "sum(W)", "W", {}),
    Captured("subscript", f'P = {{"w": {ARRAY}, "b": jnp.ones(16)}}\n', 'P["w"]', 'P["w"]', {}),
    Captured(
        "attribute",
        f"class Box:\n    def __init__(self):\n        self.w = {ARRAY}\n        self.scale = 2.0\n\n\nbox = Box()\n",
        "(box.w * box.scale)",
        "box.w",
        {},
    ),
    Captured(
        "module",
        "",
        "data.TABLE",
        "data.TABLE",
        {"data": f"import jax.numpy as jnp\n\nTABLE = {ARRAY}\n"},
        "import data\n",
    ),
    Captured(
        "imported",
        "",
        "TABLE",
        "TABLE",
        {"data": f"import jax.numpy as jnp\n\nTABLE = {ARRAY}\n"},
        "from data import TABLE\n",
    ),
    Captured("rebound before", f"W = jnp.zeros(3)\nW = {ARRAY}\n", "W", "W", {}),
)


@dataclass(frozen=True)
class Signature:
    """Parameters of the function, its arguments in calls (positional, keyword), and what they add to the result."""

    parameters: str
    calls: tuple[str, ...]
    term: str = "0.0"
    statics: str = ""
    names: str = ""
    batched: tuple[str, str] | None = None
    """`in_axes` and the arguments for `vmap`; None where vmap does not fit."""


SIGNATURES = (
    Signature("x", ("a", "x=a", "*(a,)"), batched=("0", "A")),
    Signature("x: jax.Array", ("a",), batched=("(0,)", "A")),
    Signature("x, /", ("a",), batched=("[0]", "A")),
    Signature("x, y", ("a, b", "a, y=b", "*(a, b)", "y=b, x=a", "a, *[b]"), "y.sum()", batched=("(0, None)", "A, b")),
    Signature("x, /, y", ("a, b", "a, y=b"), "y.sum()", batched=("0", "A, B")),
    Signature("x, n=2", ("a", "a, 3", "a, n=1", "x=a, n=3"), "float(n)", statics="1", names="n"),
    Signature("x, n: int = 2, *, k=1", ("a", "a, 3", "a, k=2", "a, 2, k=3"), "float(n * k)", statics="1", names="n k"),
    Signature("x, s=1.5", ("a", "a, 2.0", "a, s=0.5", "*(a, 2.0)"), "s"),
    Signature("x, *, t", ("a, t=1.0", "x=a, t=2.0", "t=1.0, x=a", "a, **{'t': 3.0}"), "t"),
    Signature("x, *, t=0.5", ("a", "a, t=1.0"), "t"),
    Signature("x, *rest", ("a", "a, b", "a, b, b", "*(a, b)"), "sum(r.sum() for r in rest)"),
    Signature("x, **more", ("a", "a, u=b"), "sum(m.sum() for m in more.values())"),
    Signature("n, x", ("2, a", "3, a"), "float(n)", statics="0", names="n"),
    Signature("x, y, n", ("a, b, 2",), "y.sum() * n", statics="-1", names="n"),
)


@dataclass(frozen=True)
class Layout:
    """How the function and its calls are written: templates for `def`, call and the file's line ends."""

    definition: str = "def {name}({parameters}):"
    call: str = "{function}({arguments})"
    indent: str = "    "
    newline: str = "\n"


LAYOUTS = (
    Layout(),
    Layout("def {name}(\n{i}{i}{parameters},\n):", "{function}(\n{i}{i}{arguments},\n{i})", newline="\r\n"),
    Layout("def  {name} ( {parameters} ) :  # ünïcode — (", "{function} ( {arguments} )", "\t"),
    Layout("def {name}({parameters}\n{i}{i}):", "{function}(  # why, though)\n{i}{i}{arguments}  # last\n{i})"),
    Layout("def \\\n{i}{name}({parameters}) -> jax.Array:", "{function} \\\n{i}{i}({arguments})", "  "),
    Layout('def {name}({parameters}):\n{i}"""Döc (string, x)."""', "('é', {function}({arguments}))[1]"),
)

BODIES = (
    ("direct", "{i}return x @ {read} + {term}\n"),
    ("scan", "{i}return lax.scan(lambda c, _: (jnp.tanh(c @ {read}), None), x, None, length=2)[0] + {term}\n"),
    (
        "fori",
        "{i}def body(i, c):\n{i}{i}return jnp.tanh(c @ {read})\n\n{i}return lax.fori_loop(0, 2, body, x) + {term}\n",
    ),
    ("cond", "{i}return lax.cond(x.sum() > 0, lambda v: v @ {read}, lambda v: v, x) + {term}\n"),
    ("comprehension", "{i}return sum([x @ {read} for _ in range(2)]) + {term}\n"),
    ("inner", "{i}@jax.jit\n{i}def inner(v):\n{i}{i}return v @ {read}\n\n{i}return inner(x) + {term}\n"),
    ("grad", "{i}return jax.grad(lambda v: jnp.sin(v @ {read}).sum())(x) + {term}\n"),
)

HELPERS = (
    ("helper", "def helper(v):\n{i}return v @ {read}\n", "helper(x)"),
    ("helper keyword", "def helper(v, *, k=1.0):\n{i}return k * (v @ {read})\n", "helper(x, k=2.0)"),
    ("helper default", "def helper(v, k=1.0):\n{i}return k * (v @ {read})\n", "helper(x, 2.0)"),
    (
        "helper scan",
        "def helper(c, _):\n{i}return jnp.tanh(c @ {read}), None\n",
        "lax.scan(helper, x, None, length=2)[0]",
    ),
    ("helper fori", "def helper(i, c):\n{i}return jnp.tanh(c @ {read})\n", "lax.fori_loop(0, 2, helper, x)"),
    (
        "helper vmap",
        "def helper(v, u):\n{i}return v * (u @ {read}).sum()\n",
        "jax.vmap(helper, in_axes=(0, None))(x, x)",
    ),
    ("helper vmap plain", "def helper(v):\n{i}return v * {read}.sum()\n", "jax.vmap(helper)(x)"),
    ("helper grad", "def helper(v):\n{i}return jnp.sin(v @ {read}).sum()\n", "jax.grad(helper)(x)"),
    ("helper map", "def helper(v):\n{i}return v @ {read}\n", "jax.tree.map(helper, [x])[0]"),
    ("helper switch", "def helper(v):\n{i}return v @ {read}\n", "lax.switch(1, [jnp.sin, helper], x)"),
    (
        "two helpers",
        "def below(v):\n{i}return v @ {read}\n\n\ndef helper(v):\n{i}return below(v) + 1\n",
        "helper(x)",
    ),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """One program."""
    captured = draw(st.sampled_from(CAPTURES))
    signature = draw(st.sampled_from(SIGNATURES))
    layout = draw(st.sampled_from(LAYOUTS))
    place = draw(st.sampled_from(("module", "module", "main", "factory", "lambda")))
    maker = _Maker(draw, captured, signature, layout, place)
    return maker.program()


class _Maker:
    def __init__(self, draw: st.DrawFn, captured: Captured, signature: Signature, layout: Layout, place: str) -> None:
        self.draw = draw
        self.captured = captured
        self.signature = signature
        self.layout = layout
        self.place = place
        self.features = [captured.kind, signature.parameters, place]

    def pick(self, *options: str) -> str:
        choice = self.draw(st.sampled_from(options))
        self.features.append(choice)
        return choice

    def program(self) -> Program:
        i = self.layout.indent
        if self.place == "lambda":
            text, function = self.lambda_program()
        else:
            text, function = self.def_program()
        files = dict(self.captured.modules)
        for name in files:
            files[name] = files[name]
        line = text[: text.index(READ)].count("\n") + 1
        text = text.replace(READ, "").replace("    ", i) if i == "    " else text.replace(READ, "")
        files["case"] = text.replace("\n", self.layout.newline)
        return Program(files, function, self.captured.name, line, tuple(self.features))

    # ------------------------------------------------------------ programs

    def lambda_program(self) -> tuple[str, str]:
        i = self.layout.indent
        how = self.pick("jit", "jit vmap", "jit grad")
        parameters = self.pick("x", "x, y=1.0", "x, *, k=2.0", "")
        used = f"A[0] @ {self.read}" if not parameters else f"x @ {self.read}"
        calls = {"": [""], "x": ["a", "*[a]"], "x, y=1.0": ["a", "a, 2.0"], "x, *, k=2.0": ["a", "a, k=1.0"]}[
            parameters
        ]
        if how != "jit":
            parameters, calls, used = "x", ["A" if how == "jit vmap" else "a"], f"x @ {self.read}"
        if how == "jit grad":
            used = f"jnp.sin({used}).sum()"
        made = f"lambda {parameters}: {used}" if parameters else f"lambda: {used}"
        made = {"jit": made, "jit vmap": f"jax.vmap({made})", "jit grad": f"jax.grad({made})"}[how]
        lines = [f"fast = jax.jit({made})"]
        returned = ", ".join(f"fast({call})" for call in calls)
        lines.append(f"return {{'out': [{returned}]}}")
        body = "".join(f"{i}{line}\n" for line in lines)
        return (
            HEAD + self.captured.imports + "\n" + self.captured.before + self.data() + f"\n\ndef main():\n{body}",
            "<lambda>",
        )

    def def_program(self) -> tuple[str, str]:
        i, signature = self.layout.indent, self.signature
        helper, body = self.body()
        options = ["decorator", "call", "rebinding", "prepared", "jit value_and_grad", "jit grad argnums"]
        if signature.batched:
            options += ["jit vmap", "jit vmap", "vmap of jit"]
        if signature.statics:
            options = ["decorator", "call", "rebinding", "prepared"]
        how = self.pick(*options)
        if "grad" in how:
            body = body.replace("return ", "return jnp.sum(", 1) if False else _summed(body, i)
        decorators, alias, called = self.transformed(how, "f")
        definition = self.layout.definition.format(name="f", parameters=signature.parameters, i=i)
        function = f"{decorators}{definition}\n{body}{alias}"
        return self.placed(helper, function, called)

    def placed(self, helper: str, function: str, called: str) -> tuple[str, str]:
        i = self.layout.indent
        captured = self.captured
        top = HEAD + captured.imports + "\n"
        if self.place == "module":
            extra, calls = self.calls(called)
            main = f"def main():\n{_indented(calls, i)}"
            return f"{top}{captured.before}{self.data()}\n\n{helper}\n\n{function}\n\n{extra}\n\n{main}", "f"
        inner = f"{captured.before}{helper}\n{function}\n"
        if self.place == "main":
            extra, calls = self.calls(called)
            main = f"def main():\n{_indented(inner + extra + calls, i)}"
            return f"{top}{self.data()}\n\n{main}", "main.<locals>.f"
        use = f"def use(a, b, A, B):\n{_indented(self.calls(called, plain=True)[1], i)}\nreturn use\n"
        factory = f"def make():\n{_indented(inner + use, i)}"
        return f"{top}{self.data()}\n\n{factory}\n\ndef main():\n{i}return make()(a, b, A, B)\n", "make.<locals>.f"

    # ------------------------------------------------------------ parts

    @property
    def read(self) -> str:
        return READ + self.captured.expression

    def data(self) -> str:
        return "a, b = jnp.ones(16), jnp.arange(16.0)\nA, B = jnp.ones((3, 16)), jnp.ones((3, 16)) * 2\n"

    def body(self) -> tuple[str, str]:
        i, term = self.layout.indent, self.signature.term
        if self.draw(st.integers(0, 2)):
            name, body = self.draw(st.sampled_from(BODIES))
            self.features.append(name)
            return "", body.format(i=i, read=self.read, term=term)
        name, helper, use = self.draw(st.sampled_from(HELPERS))
        self.features.append(name)
        return helper.format(i=i, read=self.read), f"{i}return {use} + {term}\n"

    def transformed(self, how: str, name: str) -> tuple[str, str, str]:
        """Decorators, statements after the function, and the name to call."""
        signature = self.signature
        options = ""
        if signature.statics:
            by_number = f"static_argnums=({signature.statics},)" if signature.statics != "-1" else "static_argnums=-1"
            if len(signature.names.split()) > 1:
                by_number = f"static_argnames=({', '.join(map(repr, signature.names.split()))},)"
            options = self.pick(by_number, f"static_argnames={signature.names.split()!r}")
        after = f", {options}" if options else ""
        if how == "decorator":
            plain = (
                f"@partial(jax.jit{after})\n"
                if options
                else self.pick("@jax.jit\n", "@partial(jax.jit, donate_argnums=())\n")
            )
            return plain, "", name
        if how == "prepared":
            return f"@functools.partial(jax.jit{after})\n", "", name
        if how == "call":
            return "", f"g = jax.jit({name}{after})\n", "g"
        if how == "rebinding":
            return "", f"{name} = jax.jit({name}{after})\n", name
        if how == "jit vmap":
            axes = signature.batched[0] if signature.batched else "0"
            written = self.pick(
                "", f", {axes}", f", in_axes={axes}", ", out_axes=0" if axes == "0" else f", in_axes={axes}"
            )
            if axes.startswith("(0, N") and "in_axes" not in written and axes not in written:
                written = f", in_axes={axes}"
            return "", f"g = jax.jit(jax.vmap({name}{written}))\n", "g batched"
        if how == "vmap of jit":
            axes = signature.batched[0] if signature.batched else "0"
            return "@jax.jit\n", f"g = jax.vmap({name}, in_axes={axes})\n", "g batched"
        if how == "jit grad argnums":
            numbers = self.pick("0", "(0,)", "[0]")
            return "", f"g = jax.jit(jax.grad({name}, argnums={numbers}))\n", "g first"
        return "", f"g = jax.jit(jax.value_and_grad({name}))\n", "g first"

    def calls(self, called: str, plain: bool = False) -> tuple[str, str]:
        """Definitions before the calls, and statements that end with the return of all results."""
        function, _, kind = called.partition(" ")
        signature = self.signature
        if kind == "batched":
            assert signature.batched is not None
            arguments = [signature.batched[1]]
        elif kind == "first":
            arguments = [call for call in signature.calls if not call.startswith(("x=", "y=", "t=", "n="))]
        else:
            arguments = list(signature.calls)
        extra, results = (
            "",
            [self.layout.call.format(function=function, arguments=a, i=self.layout.indent) for a in arguments],
        )
        if not plain and kind != "batched":
            for way in self.draw(st.lists(st.sampled_from(WAYS), max_size=2, unique=True)):
                self.features.append(way[0])
                first = arguments[0]
                extra += way[1].format(f=function, first=first, i=self.layout.indent)
                results.append(way[2].format(f=function, first=first))
        return extra, f"return {{'out': [{', '.join(results)}]}}\n"


WAYS = (
    ("eager helper", "def eager(a, b):\n{i}return {f}({first})\n\n\n", "eager(a, b)"),
    ("jitted caller", "@jax.jit\ndef outer(a, b):\n{i}return jax.tree.map(jnp.sin, {f}({first}))\n\n\n", "outer(a, b)"),
    (
        "jitted twice",
        "@jax.jit\ndef outer2(a):\n{i}return step2(a)\n\n\ndef step2(a):\n{i}return {f}({first})\n\n\n",
        "outer2(a)",
    ),
    ("thread", "", "asyncio.run(asyncio.to_thread({f}, {first}))"),
    ("partial", "", "partial({f}, {first})()"),
    ("lambda", "", "(lambda a: {f}({first}))(a)"),
    ("comprehension", "", "[{f}({first}) for a in A]"),
    ("named", "h = {f}\n\n\n", "h({first})"),
    ("loop", "def looped(a, b):\n{i}for _ in range(2):\n{i}{i}r = {f}({first})\n{i}return r\n\n\n", "looped(a, b)"),
    ("shadowed", "def shadow(a, b, W=None):\n{i}return {f}({first})\n\n\n", "shadow(a, b)"),
    ("eval_shape", "", "jax.eval_shape({f}, {first}) is not None"),
    ("vmapped lambda", "", "jax.vmap(lambda a: {f}({first}))(A)"),
    ("stored", "", "[{f}][0]({first})"),
)


def _summed(body: str, i: str) -> str:
    """The last `return` of the function gives a scalar."""
    lines = body.splitlines()
    number = max(n for n, line in enumerate(lines) if line.startswith(f"{i}return "))
    lines[number] = f"{i}return jnp.sum({lines[number].strip().removeprefix('return ')})"
    return "\n".join(lines) + "\n"


def _indented(text: str, i: str) -> str:
    return "".join(f"{i}{line}\n" if line.strip() else "\n" for line in text.rstrip("\n").split("\n"))
