"""Draws random small programs in which a compiled function captures an array.

A program is built from independent choices: what is captured, the function's form and signature, where the read
stands, how the function is transformed and called, and how the text is laid out. `READ` marks the read.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from hypothesis import strategies as st
from program_calls import KEPT, WAYS
from program_forms import FORMS, VALUES, Form
from program_parts import (
    BODIES,
    CAPTURES,
    HEAD,
    HELPERS,
    INDENT,
    LAYOUTS,
    READ,
    SIGNATURES,
    Captured,
    Layout,
    Signature,
)


@dataclass(frozen=True)
class Program:
    """Texts by module name, and what a finding says of the captured array."""

    files: dict[str, str]
    function: str
    name: str
    line: int
    features: tuple[str, ...]
    path: str = "case"
    """The module that reads the array."""
    run: bool = False
    """Does tracing it not show all that matters, such as donation?"""


PLACES = ("module", "module", "parts", "main", "factory", "lambda", "form", "form", "form")
"""Where the function stands; `parts`: beside it, but with a helper in another file."""


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """One program."""
    captured = draw(st.sampled_from(CAPTURES))
    signature = draw(st.sampled_from(SIGNATURES))
    layout = draw(st.sampled_from(LAYOUTS))
    place = draw(st.sampled_from(PLACES))
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
        self.modules: dict[str, str] = {}
        """Files beside `case` that are written on the way."""

    def pick(self, *options: str) -> str:
        choice = self.draw(st.sampled_from(options))
        self.features.append(choice)
        return choice

    def program(self) -> Program:
        name, modules = self.captured.name, dict(self.captured.modules)
        if self.place == "form":
            form = self.draw(st.sampled_from(FORMS))
            name = form.own or name
            modules |= form.modules
            text, function = self.form_program(form), form.function
        elif self.place == "lambda":
            text, function = self.lambda_program()
        else:
            text, function = self.def_program()
        files = {**modules, **self.modules, "case": text}
        files = {name: self.layout.text(text) if name in ("case", "parts") else text for name, text in files.items()}
        path = next(name for name, text in files.items() if READ in text)
        line = files[path][: files[path].index(READ)].count("\n") + 1
        files = {name: text.replace(READ, "") for name, text in files.items()}
        return Program(files, function, name, line, tuple(self.features), path)

    def form_program(self, form: Form) -> str:
        self.features[:] = [form.kind, "" if form.own else self.captured.kind]
        value = self.draw(st.sampled_from(VALUES))
        imports = HEAD + ("" if form.own else self.captured.imports)
        return imports + Template(form.text).substitute(
            before=self.captured.before,
            data=self.data(),
            value=value.format(read=self.read),
            owned=value.format(read=READ + form.own),
        )

    # ------------------------------------------------------------ programs

    def lambda_program(self) -> tuple[str, str]:
        i = INDENT
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
        i, signature = INDENT, self.signature
        helper, body = self.body()
        options = ["decorator", "call", "rebinding", "prepared", "jit value_and_grad", "jit grad argnums"]
        if signature.batched:
            options += ["jit vmap", "jit vmap", "vmap of jit"]
        if signature.statics:
            options = ["decorator", "call", "rebinding", "prepared"]
        else:
            options.append("kept")
        how = self.pick(*options)
        if "grad" in how:
            body = _summed(body, i)
        decorators, alias, called = self.transformed(how, "f")
        definition = self.layout.definition.format(name="f", parameters=signature.parameters, i=i)
        function = f"{decorators}{definition}\n{body}{alias}"
        return self.placed(helper, function, called)

    def placed(self, helper: str, function: str, called: str) -> tuple[str, str]:
        i = INDENT
        captured = self.captured
        top = HEAD + captured.imports + "\n"
        if self.place == "parts":
            self.modules["parts"] = f"{top}{captured.before}\n\n{helper}"
            top = HEAD + self.pick("from parts import helper\n", "import parts\n\nhelper = parts.helper\n")
        if self.place in ("module", "parts"):
            extra, calls = self.calls(called)
            main = f"def main():\n{_indented(calls, i)}"
            before = f"{captured.before}{self.data()}\n\n{helper}" if self.place == "module" else self.data()
            return f"{top}{before}\n\n{function}\n\n{extra}\n\n{main}", "f"
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
        i, term = INDENT, self.signature.term
        if self.place != "parts" and self.draw(st.integers(0, 2)):
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
        if how == "kept":
            kind, statement, called = self.draw(st.sampled_from(KEPT))
            self.features.append(kind)
            return "", statement.format(f=name), called
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
            [self.layout.call.format(function=function, arguments=a, i=INDENT) for a in arguments],
        )
        if not plain and kind != "batched":
            first = arguments[0]
            outside = self.place in ("module", "parts") and function.isidentifier()
            ways = [way for way in WAYS if way.fits(first, signature.statics, not kind, outside)]
            for way in self.draw(st.lists(st.sampled_from(ways), max_size=2, unique_by=lambda way: way.kind)):
                self.features.append(way.kind)
                words = {"f": function, "first": first, "i": INDENT}
                self.modules |= {name: text.format(**words) for name, text in way.modules.items()}
                extra += way.before.format(**words)
                results.append(way.call.format(**words))
        return extra, f"return {{'out': [{', '.join(results)}]}}\n"


def _summed(body: str, i: str) -> str:
    """The last `return` of the function gives a scalar."""
    lines = body.splitlines()
    number = max(n for n, line in enumerate(lines) if line.startswith(f"{i}return "))
    lines[number] = f"{i}return jnp.sum({lines[number].strip().removeprefix('return ')})"
    return "\n".join(lines) + "\n"


def _indented(text: str, i: str) -> str:
    return "".join(f"{i}{line}\n" if line.strip() else "\n" for line in text.rstrip("\n").split("\n"))
