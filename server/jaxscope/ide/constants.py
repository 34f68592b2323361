"""What became of captured arrays, in words: for the Constants tab and for `jaxscope show --stage constants`.

Every sentence holds for the JAX that ran, by its version and its flags; `tests/worker/test_constants.py` tries what
they rest on with each JAX of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from jaxscope.ide.hover import unnamed
from jaxscope.ide.numbers import format_bytes, format_count
from jaxscope.ide.panel_model import ConstantsLowered, LiteralClass, LoweredConstant, MainArgument
from jaxscope.worker.jaxscope_worker.wire import constants as wire
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, Hello, TracedFunction

FLAG, LIMIT = "jax_use_simplified_jaxpr_constants", "jax_embedded_constants_max_bytes"
_FORMS = {"constvar": "constvar", "literal": "core.Literal"}
_WIDE = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
_WORDS: dict[Literal["captured", "scalar", "lowering", "small"], str] = {
    "captured": "your arrays",
    "scalar": "numbers in the code, and those that JAX's own functions bring",
    "lowering": "start values, bounds and tables that lowering adds",
    "small": "arrays of 32 B or less",
}


def constants_lowered(reply: wire.ConstantsReply, traced: TracedFunction, hello: Hello) -> ConstantsLowered:
    """The answer of a worker for one function, as it is shown."""
    how = reply.behaviour
    return ConstantsLowered(
        lead=lead(how, hello.jax or ""),
        notes=tuple(_notes(reply, traced, hello)) if traced.constants else (),
        lost=tuple(_lost(reply, traced)),
        constants=tuple(_lowered(item) for item in reply.constants),
        classes=tuple(_classes(reply)),
        functions=reply.functions,
        captured=tuple(_argument(item, traced) for item in reply.captured.arguments),
        hoisted=tuple(_argument(item, traced) for item in reply.hoisted.arguments),
        unused=reply.unused,
        module_bytes=reply.captured.module_bytes,
        hoisted_bytes=reply.hoisted.module_bytes,
    )


def lead(how: wire.Behaviour, jax: str) -> str:
    """What this JAX does with captured arrays, and which flag and limit decide it."""
    if how.hoists:
        over = "" if how.embedded_limit is None else f" over {format_bytes(how.embedded_limit)} (`{LIMIT}`)"
        return (
            f"JAX {jax} passes captured arrays{over} as hidden arguments (`const_arg`), because `{FLAG}` is on. "
            "`jax.export` inlines them all the same."
        )
    if how.flag is None:
        return (
            f"JAX {jax} inlines captured arrays as `stablehlo.constant`, and has no flag to do otherwise. "
            "`jax.export` inlines them too."
        )
    off = f"(`{FLAG}` is off)"
    return f"JAX {jax} inlines captured arrays as `stablehlo.constant` {off}. `jax.export` inlines them too."


# ---------------------------------------------------------------- notes


def _notes(reply: wire.ConstantsReply, traced: TracedFunction, hello: Hello) -> Iterator[str]:
    how = reply.behaviour
    if how.hoists:
        yield (
            f"The C++ fast path passes hidden arguments since jaxlib 0.7.1 (this is {hello.jaxlib})."
            if how.fast_path
            else f"Every call goes through Python: the C++ fast path needs jaxlib 0.7.1 for hidden arguments "
            f"(this is {hello.jaxlib})."
        )
        yield (
            "A compiled program in JAX's cache does not contain the arrays: whoever loads it passes its own. "
            "`serialize_executable` refuses a program that has hidden arguments."
        )
    else:
        if how.flag is not None and how.embedded_limit is not None:
            yield (
                f"With `{FLAG}` on, arrays over {format_bytes(how.embedded_limit)} (`{LIMIT}`) would be hidden "
                f"arguments; the C++ fast path passes them since jaxlib 0.7.1 (this is {hello.jaxlib})."
            )
        yield (
            "A cached or serialized program contains their values: with other values it is compiled anew. Hoisted, it "
            "does not contain them."
        )
    copied = [item for item in reply.constants if len(item.rows) > 1]
    for item in copied:
        where = "passed" if item.lowered == "const_arg" else "in the module"
        yield f"`{_name(traced, item.constant)}` is {where} {len(item.rows)} times."
    yield from _x64(how, traced)
    if reply.missed:
        yield f"The hoisted form still has the constants inside {', '.join(f'`{name}`' for name in reply.missed)}."


def _x64(how: wire.Behaviour, traced: TracedFunction) -> Iterator[str]:
    wide = [item for item in traced.constants if item.source_dtype in _WIDE and "jax.Array" not in item.representation]
    if not wide:
        return
    names = ", ".join(f"`{item.name or unnamed(traced.path, item)}`" for item in wide)
    one = len(wide) == 1
    setting = "on" if how.x64 else "off"
    calls = (
        "a call under the other setting fails to lower (`ValueError`)"
        if how.x64_call == "fails"
        else "a call under the other setting is traced again, to other types"
    )
    lowers = (
        "; so does lowering under it what was traced under this one"
        if how.x64_lower == "fails" and how.x64_call == "fails"
        else "; lowering under it what was traced under this one fails (`ValueError`)"
        if how.x64_lower == "fails"
        else ""
    )
    yield (
        f"{names} {'is' if one else 'are'} 64-bit NumPy data, lowered here with `jax_enable_x64` {setting}. Lower and "
        f"run with the same setting: in this JAX {calls}{lowers}."
    )


# ---------------------------------------------------------------- shardings


def _lost(reply: wire.ConstantsReply, traced: TracedFunction) -> Iterator[str]:
    """Only what the two modules show: that of the inlined arrays, and for how many devices each was made."""
    for item in reply.constants:
        if item.lowered != "stablehlo.constant" or item.devices < 2:
            continue
        name, whole = _name(traced, item.constant), traced.constants[item.constant].bytes
        ways = whole // item.device_bytes if item.device_bytes else 1
        if ways > 1:
            yield (
                f"`{name}` loses its {ways}-way sharding when inlined: the program has all {format_bytes(whole)} of "
                f"it for each device, not {format_bytes(item.device_bytes)}."
            )
        else:
            yield f"`{name}` loses its place on {item.devices} devices when inlined."
    captured, hoisted = reply.captured.partitions, reply.hoisted.partitions
    if captured < hoisted:
        yield f"Inlined, the program is made for {format_count(captured, 'device')}; hoisted, for {hoisted}."


# ---------------------------------------------------------------- rows


def _name(traced: TracedFunction, index: int) -> str:
    constant: Constant = traced.constants[index]
    return constant.name or unnamed(traced.path, constant)


def _lowered(item: wire.HeldConstant) -> LoweredConstant:
    return LoweredConstant(
        item.constant,
        _FORMS[item.form],
        item.lowered,
        item.name,
        item.function,
        item.rows[0] if item.rows else -1,
        len(item.rows),
    )


def _classes(reply: wire.ConstantsReply) -> Iterator[LiteralClass]:
    for kind, words in _WORDS.items():
        found = [item for item in reply.literals if item.literal == kind]
        helpers = sorted((item for item in found if item.helper), key=lambda item: -item.count)
        named = ", ".join(f"`{item.helper}` {item.count}" for item in helpers)
        count, size = sum(item.count for item in found), sum(item.bytes for item in found)
        yield LiteralClass(kind, count, size, f"from {named}" if named else words)


def _argument(item: wire.MainArgument, traced: TracedFunction) -> MainArgument:
    name = item.name or (_name(traced, item.constant) if item.constant >= 0 else "")
    return MainArgument(item.kind, name, item.type, item.bytes, item.sharding, item.layout, item.donated)
