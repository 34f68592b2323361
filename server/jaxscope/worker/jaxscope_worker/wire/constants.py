"""What became of the captured arrays of one function, under the user's JAX and flags: the `constants` request.

Figures and facts only; the sentences are the server's. Constants are named by their position in
`TracedFunction.constants`, rows by theirs in the `LowerReply` of the form `captured`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ConstantsRequest:
    """Lowers a traced function as it is and with its constants as leading arguments, and compares the two."""

    function: str
    """A `TracedFunction.id`."""


@dataclass(frozen=True)
class Behaviour:
    """What this JAX does with captured arrays, with the flags that decide it."""

    hoists: bool
    """Does lowering make hidden arguments of them?"""
    flag: bool | None
    """`jax_use_simplified_jaxpr_constants`; None where this version has no such flag."""
    embedded_limit: int | None
    """`jax_embedded_constants_max_bytes`: up to so many bytes an array stays in the program; None where this version
    has no such flag."""
    warn_bytes: int | None
    """`jax_captured_constants_warn_bytes`: the total from which JAX itself warns; None where it never does."""
    fast_path: bool
    """Can the C++ fast path call a program that has hidden arguments (jaxlib 0.7.1 on)?"""
    x64: bool
    x64_call: Literal["traces again", "fails"]
    """What a jitted function with a 64-bit NumPy constant does when called under the other `jax_enable_x64`."""
    x64_lower: Literal["keeps", "fails"]
    """What lowering does with what was traced under the other setting."""


@dataclass(frozen=True)
class HeldConstant:
    """Where one captured array is held."""

    constant: int
    form: Literal["constvar", "literal"]
    """In the jaxpr: bound to a variable of it, or a `core.Literal` at each use."""
    lowered: Literal["stablehlo.constant", "const_arg", ""]
    """Empty when no row was found that holds it: lowering has dropped it, or joined it with another."""
    name: str
    """Of the value that holds it in the module, `%cst_0`; empty when no row was found."""
    function: str
    """Of the module: `main`."""
    rows: tuple[int, ...]
    """More than one: it is in the program so many times."""
    devices: int
    """Over how many devices the array itself is spread or copied."""
    sharding: str
    """`PartitionSpec('model', None)`; empty on one device."""
    device_bytes: int
    """Bytes of it that one device holds under that sharding."""


@dataclass(frozen=True)
class LiteralCount:
    """Constant operations of the module of one class."""

    literal: Literal["captured", "scalar", "small", "lowering"]
    helper: str
    """Of those born in lowering, what made them: `threefry2x32`, `reduce_max`, `scan`."""
    count: int
    bytes: int


@dataclass(frozen=True)
class MainArgument:
    """One argument of the lowered `@main`."""

    kind: Literal["dimension", "token", "const", "array"]
    name: str
    type: str
    """`f32[3,700]`; as the module writes it for dimension variables and tokens."""
    bytes: int
    """0 where a dimension is a variable."""
    sharding: str = ""
    """As the program was given it; empty when that is left to XLA."""
    layout: str = ""
    """As the module writes it; empty for the default."""
    constant: int = -1
    donated: bool = False


@dataclass(frozen=True)
class LoweredForm:
    """One form of the program."""

    arguments: tuple[MainArgument, ...]
    module_bytes: int
    seconds: float
    partitions: int
    """Devices that the program is made for."""


@dataclass(frozen=True)
class ConstantsReply:
    """Both forms, and the constants of the one that JAX makes by itself."""

    behaviour: Behaviour
    constants: tuple[HeldConstant, ...]
    literals: tuple[LiteralCount, ...]
    functions: int
    """Functions of the module that have constant operations."""
    captured: LoweredForm
    hoisted: LoweredForm
    unused: tuple[str, ...]
    """Arguments of the user's that lowering has dropped, since nothing reads them."""
    missed: tuple[str, ...]
    """Primitives whose constants the hoisted form still has."""
