"""What server and worker say to each other.

One frozen dataclass a message. `Hello` is sent by the worker when it starts and its fields are never renamed.
Each request type names its reply; a request that cannot be answered gets a `Failure`. Lines count from 1, columns
count characters from 1, `end` is exclusive, sizes are bytes, durations seconds. Array values are never in here.
Unknown fields are ignored by the reader, so fields may be added with a default; anything else raises `PROTOCOL`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from .donating import Reuse
from .leaks import Leak
from .overflow import Overflow
from .places import Place as Place
from .retracing import Retraced
from .stale import ChangedValue

PROTOCOL = 1


# ---------------------------------------------------------------- the worker introduces itself


@dataclass(frozen=True)
class Hello:
    """First message of a worker, sent before anything of the user's runs."""

    protocol: int
    python: str
    """Version of the interpreter, `3.11.7`."""
    executable: str
    jax: str | None
    """Version, or None when it cannot be imported: then `error` says why."""
    jaxlib: str | None
    platform: str
    """`cpu` for a trace worker; for a timing worker what JAX was told or left to choose (`default`)."""
    constants: str
    """What lowering does with captured arrays: `inlined` or `hoisted`."""
    x64: bool
    error: str | None = None


# ---------------------------------------------------------------- failures


@dataclass(frozen=True)
class Failure:
    """Why a request was not answered. The worker sends the first two kinds, the pool makes the others."""

    kind: Literal["user-error", "unsupported", "timed-out", "crashed", "cancelled", "no-jax"]
    message: str
    """One sentence: of a user error the exception as Python prints it, `ValueError: ...`."""
    place: Place | None = None
    """Innermost line of the user's own code."""
    traceback: str = ""
    """The user's frames first; for a crash, the tail of what the worker wrote to stderr."""


@dataclass(frozen=True)
class Denied:
    """Something that the side-effect guard stopped while the user's code ran."""

    operation: Literal["write", "delete", "rename", "process", "connect"]
    target: str
    place: Place | None = None


# ---------------------------------------------------------------- trace


@dataclass(frozen=True)
class DeclaredSignature:
    """Shapes that the user wrote down (`# jaxscope: f32[3,700], key`), a run had, or an annotation implies."""

    function: str
    """Qualified name."""
    signature: str
    """One aval per parameter, in the short form `f32[3,700]`; trees as `{w: f32[8,8], b: f32[8]}`. Empty for a guess,
    which the worker makes, and only where nothing else traced the function."""
    source: Literal["declared", "recorded", "annotation", "call site", "guess"]
    origin: str = ""
    """Where it stands, for showing: `case.py:12`."""
    line: int = 0
    """Of the def or lambda; 0 where the name alone tells which function is meant."""


@dataclass(frozen=True)
class TraceRequest:
    """Import one file and trace what is traced while it is imported, while `entries` run, or under `declared`."""

    path: str
    """Absolute path of the file."""
    root: str
    """Project root, put on `sys.path`."""
    module: str
    """Dotted name to import it by; never `__main__`."""
    text: str | None = None
    """The text to run instead of what is on disk (unsaved edits)."""
    overlay: dict[str, str] | None = None
    """Texts of other files, by absolute path, to use instead of what is on disk."""
    entries: tuple[str, ...] = ()
    """Functions of the file to call without arguments once it is imported."""
    declared: tuple[DeclaredSignature, ...] = ()
    min_bytes: int = 33
    """Constants smaller than this are only counted."""
    allow_side_effects: tuple[str, ...] = ()
    """Operations of `Denied` that are let through."""
    paths: tuple[str, ...] = ()
    """Folders put on `sys.path` in front of `root`: where the file's topmost package lies, if not there."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a traced call: its avals as a tree in short form, or the repr of a static value."""

    name: str
    type: str
    static: bool = False
    donated: bool = False


@dataclass(frozen=True)
class Read:
    """An equation that consumes a constant, with the user's frames from the innermost outwards."""

    primitive: str
    frames: tuple[Place, ...]


@dataclass(frozen=True)
class Constant:
    """An array that a traced function holds as a constant."""

    name: str | None
    """Path by which user code reaches it, as one writes it: `W`, `self.basis`, `params['w']`, `tables.MASK`."""
    holder: str
    """How the function got hold of it: `global`, `closure`, `self`, `partial`, `default`, `static`, `callable`,
    `module`, `made`, `unknown`."""
    owner: str
    """What has the name: qualified name of the function whose global, cell, default or local it is."""
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    representation: str
    """`same jax.Array`, `same numpy array`, `copy`, `view of N`, `truncated from float64`."""
    source_dtype: str
    sharding: str | None
    splat: bool | None
    """All elements equal; None when it was not looked at."""
    bound: Place | None
    """Where it was made, when that was seen: the line of the traced function that bound a NumPy result."""
    variable: str
    """Its variable in the printed jaxpr, `a`."""
    reads: tuple[Read, ...]
    key: int = 0
    """The same number in two constants of one reply means the same array."""
    device: str = ""
    """Of a `jax.Array` that lies on one: `cpu:0`."""
    sources: tuple[int, ...] = ()
    """The arrays of the user's that programs of this signature hold here, by numbers that are the same for the same
    array in the whole reply: several closures of one def hold several. Empty: not known, or each trace made its own."""
    copies: int = 1
    """Compiled programs that hold it, as far as seen: one per function and signature."""


@dataclass(frozen=True)
class TracedFunction:
    """One function under one signature."""

    id: str
    """Names it in later requests of the same worker."""
    path: str
    function: str
    """Qualified name: `Whitener.project`, `fit.<locals>.loss`, `<lambda>`."""
    line: int
    """Of the def or lambda."""
    jitted_at: Place | None
    """The call whose execution traced it, or the jit site when only that is known."""
    parameters: tuple[Parameter, ...]
    out: tuple[str, ...]
    source: str
    """`run`, `declared`, `annotation`, `call site`, `guess` or `recorded`."""
    origin: str
    calls: int
    """How often this signature was traced or called, as far as seen."""
    equations: int
    jaxpr: str
    """Handle of its text."""
    constants: tuple[Constant, ...]
    small_constants: int
    """Number of array constants below `min_bytes`."""
    trace_seconds: float | None
    under: str | None = None
    """Id of the traced function inside whose trace this one was traced."""
    x64: bool | None = None
    """`jax_enable_x64` when it was traced; None for what a version without the field recorded."""
    constant_bytes: int = 0
    """Of all its array constants, the small ones and those of nested jits included."""
    jitted: bool = True
    """False: it was jitted only to be traced as declared; the file's own code was not seen to jit it."""

    def joined(self, other: TracedFunction) -> TracedFunction:
        """This and another program that differs from it in which arrays it holds only."""
        constants = []
        for one, same in zip(self.constants, other.constants, strict=True):
            constants.append(replace(one, sources=tuple(dict.fromkeys((*one.sources, *same.sources)))))
        return replace(self, constants=tuple(constants))

    overflows: tuple[Overflow, ...] = ()
    """Integers computed from constants alone that do not fit; looked for where x64 is off."""
    column: int | None = 0
    """Of a lambda, in characters from 1; 0 for a def, and None where Python cannot tell which lambda of the line."""


@dataclass(frozen=True)
class NotTraced:
    """A function that was to be traced and was not."""

    path: str
    function: str
    line: int
    reason: str
    failure: Failure | None = None
    signature: str = ""
    source: str = ""
    origin: str = ""
    """Of the `DeclaredSignature` under which it was traced."""


@dataclass(frozen=True)
class TraceReply:
    """What was seen. `failure` set: the import or an entry stopped there; what was seen before still counts."""

    functions: tuple[TracedFunction, ...]
    not_traced: tuple[NotTraced, ...]
    denied: tuple[Denied, ...]
    failure: Failure | None
    import_seconds: float
    imported: tuple[str, ...]
    """Paths of the user's files that were imported."""
    warn_bytes: int | None = None
    """`jax_captured_constants_warn_bytes` after the run; None where JAX does not warn."""
    retraced: tuple[Retraced, ...] = ()
    """Calls that the program made by itself; only those of its outermost compiled functions."""
    leaks: tuple[Leak, ...] = ()
    """Tracers that outlived their trace."""
    changed: tuple[ChangedValue, ...] = ()
    """What traced functions read from outside and that has changed since; only for calls that the program made."""


# ---------------------------------------------------------------- lower


@dataclass(frozen=True)
class LowerRequest:
    """StableHLO of a traced function: as JAX lowers it, or with its constants as leading arguments."""

    function: str
    """A `TracedFunction.id`."""
    form: Literal["captured", "hoisted"] = "captured"


@dataclass(frozen=True)
class Operation:
    """One line of the printed module."""

    text: str
    """Without locations; literals over 16 elements elided by the printer."""
    op: str
    """`dot_general`; empty for braces and attributes."""
    frames: tuple[Place, ...]
    """User frames, innermost first; empty when none is known."""
    captured: int = -1
    """Index into the constants of the traced function when the line is the constant (or argument) that holds it."""
    literal: str = ""
    """`captured`, `scalar`, `small` or `lowering` for a constant operation."""


@dataclass(frozen=True)
class LowerReply:
    """The module as rows."""

    operations: tuple[Operation, ...]
    module_bytes: int
    """Size of the module as bytecode."""
    seconds: float
    platform: str


# ---------------------------------------------------------------- progress


@dataclass(frozen=True)
class Progress:
    """Sent while a request is worked on."""

    id: int
    stage: str
    """`importing`, `tracing`, `lowering`, `compiling`, `running`; `alarm`, no sign of progress, for what XLA says."""
    detail: str
    done: float | None
    """Share done, 0 to 1; None when it is not known."""


# ---------------------------------------------------------------- verify


@dataclass(frozen=True)
class Hoisted:
    """An array that a change makes an argument."""

    function: str
    """Qualified name of the function that the change touched."""
    constant: str
    """Name of the constant that should be gone from it."""
    donates: tuple[str, ...] = ()
    """Parameters that the change has it give away."""


@dataclass(frozen=True)
class VerifyRequest:
    """Runs the files before and after a change, one after the other, and compares."""

    before: TraceRequest
    after: TraceRequest
    function: str
    """Qualified name of the function that the change touched."""
    constant: str
    """Name of the constant that should be gone from it."""
    others: tuple[Hoisted, ...] = ()
    """What else the change makes an argument."""
    results: Literal["same", "eager", "arrays", "types", "any", "prints"] = "same"
    """What the entries must return after it: the same; where it differs, what they return when nothing is compiled,
    since compiled code used what was out of date; the same arrays, whatever is said of their buffers; other numbers of
    the same shapes and dtypes; whatever there is in the same structure; the same, while more may be printed.
    Where an entry returns nothing, what it printed counts instead."""
    donates: tuple[str, ...] = ()
    """Parameters that the change has the function give away."""
    tell: bool = False
    """Is what the second run showed wanted, so that it need not be run once more for that?"""


@dataclass(frozen=True)
class VerifyReply:
    """None: could not be known (nothing ran)."""

    imports: bool
    constant_gone: bool | None
    avals_equal: bool | None
    values_equal: bool | None
    """Of the entries' results, or else of the traced programs: for all arguments, or for some that were tried."""
    detail: str = ""
    """What differs, in one sentence: `the output of f would change from f32[3] to f32[4]`."""
    programs_equal: bool | None = None
    """Up to the names of variables and the new argument."""
    results_equal: bool | None = None
    """Of what the entries returned, which shows more than `values_equal`: what callers pass, and when."""
    others: tuple[VerifyReply, ...] = ()
    """The same of each of the request's `others`."""
    reuse: Reuse | None = None
    """Of what it gives away: what the compiled program does with it. None when nothing is, or it was not traced."""
    after: TraceReply | None = None
    """What the second run showed, where that was wanted and it is all that a trace would show."""
    silent: str = ""
    """An entry that returns nothing, and prints nothing that could be compared, where no other shows anything."""
    printed: bool = False
    """Does `results_equal` tell of what the entries printed, since they return nothing?"""


# ---------------------------------------------------------------- large texts


@dataclass(frozen=True)
class FetchRequest:
    """A slice of a text that a reply named by handle."""

    handle: str
    offset: int = 0
    limit: int = 1 << 20


@dataclass(frozen=True)
class FetchReply:
    """`total` characters in all."""

    text: str
    total: int


@dataclass(frozen=True)
class ShutdownRequest:
    """The worker ends after answering."""


@dataclass(frozen=True)
class ShutdownReply:
    """Nothing to say."""
