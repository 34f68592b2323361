"""What the panel shows, as plain values. The client's TypeScript types are generated from this file.

Figures that are not known are None and are then not shown. Paths are absolute, lines and columns count from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """A traced function of the file, for choosing one."""

    function: str
    line: int
    lens: str
    """The facts of its code lens, without the actions."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place that can be gone to."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Signature:
    """One known signature of the function."""

    id: str
    """Names it in requests. It outlives the trace, as long as the next one has the signature too."""
    parameters: tuple[tuple[str, str], ...]
    """Name and type; a static parameter has its repr as type."""
    out: tuple[str, ...]
    source: str
    origin: str
    calls: int
    recorded: str = ""
    """Why a recorded run traced it, and how long compiling took."""


@dataclass(frozen=True, slots=True)
class OnlyRecorded:
    """Why there are no programs and no timings of a function that only a recorded run knows."""

    reason: str
    """A sentence."""
    detail: str
    action: Literal["", "trace", "trust", "consent", "interpreter"] = ""
    """What would help."""


@dataclass(frozen=True, slots=True)
class ConstantRow:
    """One row of the Constants tab."""

    index: int
    """Of the traced function's constants."""
    name: str
    """As written; `made at :12` or `no name found` when it has none."""
    bound: SourceLine | None
    type: str
    bytes: int
    variable: str
    representation: str
    lowered: str
    """`stablehlo.constant` or `const_arg`."""
    reads: tuple[SourceLine, ...]
    finding: bool
    """Is it reported as a finding?"""


@dataclass(frozen=True, slots=True)
class LoweredConstant:
    """What lowering made of one captured array."""

    index: int
    """That of the `ConstantRow`."""
    form: str
    """In the jaxpr: `constvar` or `core.Literal`."""
    lowered: str
    """`stablehlo.constant` or `const_arg`; empty when the module has no row that holds it."""
    name: str
    """Of the value that holds it in the module, `%cst_0`."""
    function: str
    row: int
    """In the program's rows; -1 for none."""
    copies: int
    """Rows of the module that hold it."""


@dataclass(frozen=True, slots=True)
class LiteralClass:
    """The constant operations of one class."""

    literal: Literal["captured", "scalar", "lowering", "small"]
    count: int
    bytes: int
    words: str
    """What they are: `scan 2, reduce_max 1`."""


@dataclass(frozen=True, slots=True)
class MainArgument:
    """One argument of `@main`."""

    kind: Literal["dimension", "token", "const", "array"]
    name: str
    type: str
    bytes: int
    sharding: str
    layout: str
    donated: bool


@dataclass(frozen=True, slots=True)
class ConstantsLowered:
    """The Constants tab, once the function was lowered."""

    lead: str
    """What this JAX does with captured arrays, with the flag and the limit that decide it."""
    notes: tuple[str, ...]
    """What follows from it, a sentence or two each, where `code` stands between backticks."""
    lost: tuple[str, ...]
    """Shardings and devices that inlining loses, a sentence each."""
    constants: tuple[LoweredConstant, ...]
    classes: tuple[LiteralClass, ...]
    functions: int
    """Functions of the module that have constant operations."""
    captured: tuple[MainArgument, ...]
    hoisted: tuple[MainArgument, ...]
    unused: tuple[str, ...]
    """Arguments that lowering dropped."""
    module_bytes: int
    hoisted_bytes: int


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One line of the Overview's findings."""

    rule: str
    severity: str
    name: str
    type: str
    bytes: int | None
    path: str
    line: int
    column: int
    message: str
    evidence: str
    """`static`, `traced`, `both`, or `recorded` where a recorded run showed it."""
    fix: str | None
    """Title of the fix, when one is offered."""


@dataclass(frozen=True, slots=True)
class RefutedRow:
    """A finding that the trace refuted."""

    name: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class PythonStage:
    """The def itself."""

    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class JaxprStage:
    """The traced program."""

    equations: int
    constants: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class FailedTrace:
    """A trace that ended in the user's code."""

    path: str
    line: int
    message: str
    source: tuple[tuple[int, str], ...]
    """Line numbers and text around the failing line."""
    traceback: str
    tried: str
    """The shapes tried and where they came from; empty when none were."""
    guess: bool


PanelState = Literal[
    "ready", "no-function", "no-shapes", "restricted", "consent", "running", "failed", "stopped", "no-jax"
]


@dataclass(frozen=True, slots=True)
class PanelModel:
    """Everything but the large texts and the measurements."""

    state: PanelState
    path: str
    function: str
    line: int
    functions: tuple[FunctionRow, ...]
    signatures: tuple[Signature, ...]
    """Those with the most trusted source first."""
    signature: str
    """Id of the one shown; empty when none is known."""
    findings: tuple[FindingRow, ...]
    refuted: tuple[RefutedRow, ...]
    constants: tuple[ConstantRow, ...]
    python: PythonStage | None
    jaxpr: JaxprStage | None
    jax: str | None
    """Version of JAX."""
    interpreter: str
    traced_at: str | None
    """Clock time of the trace, `14:02:11`."""
    stale_lines: tuple[int, ...]
    """Lines changed since the trace; not empty means that what is shown is stale."""
    threshold: int
    message: str
    """For the states other than `ready`: the sentence to show."""
    only_recorded: OnlyRecorded | None = None
    offer: Literal["", "guess", "trace", "policy"] = ""
    """In state `no-shapes`: what would help besides a run and a declaration."""
    failed: FailedTrace | None = None
    stopped_log: str = ""
    """Last lines of a stopped worker's log."""
    representation: str = ""
    """How this JAX lowers captured arrays, in a sentence."""
    timings: Timings | None = None
    """What was measured of this very program."""


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One row of a program text."""

    text: str
    op: str
    lines: tuple[SourceLine, ...]
    """Innermost first."""
    captured: str = ""
    """Name of the captured array that this row holds."""
    literal: str = ""
    """`captured`, `scalar`, `small` or `lowering`, for a constant."""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program as rows: the StableHLO tab."""

    rows: tuple[OperationRow, ...]
    module_bytes: int | None
    seconds: float | None
    platform: str
    operations: int
    located: int
    """Operations that have a source line."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A measured duration in seconds, with every sample, sorted."""

    stage: str
    minimum: float
    median: float
    iqr: float
    runs: int
    samples: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FormTimings:
    """One form of the program, measured."""

    form: Literal["captured", "hoisted"]
    stages: tuple[Spread, ...]
    module_bytes: int | None
    host_peak_bytes: int | None
    argument_bytes: int | None
    output_bytes: int | None
    temp_bytes: int | None
    constant_bytes: int | None
    code_bytes: int | None
    flops: float | None
    stopped: str = ""
    """Why its compilation gave no figures: `stopped after 60 s (jaxscope.trace.timeout)`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Captured against hoisted, one row. The verdict follows the comparison rule, so `ratio` is often None."""

    label: str
    """`StableHLO module`, `lower`, `compile`, `host memory, compiling`, `generated code`, `arguments per call` or
    `run`."""
    unit: Literal["bytes", "seconds"]
    note: str
    """`median of 7`."""
    captured: float | None
    hoisted: float | None
    verdict: str
    """`1.8 × faster`, `≈ no significant difference`, `? spread too wide to tell (IQR 41 % of median)`, ..."""


@dataclass(frozen=True, slots=True)
class Timings:
    """The Timings tab, and the Overview's captured-against-hoisted rows when both forms were measured."""

    device: str
    forms: tuple[FormTimings, ...]
    comparison: tuple[Comparison, ...]
    alarms: tuple[str, ...]
    hlo_instructions: int | None
    fusions: int | None
    difference: float | None = None
    """Largest absolute difference of the two forms' results."""


@dataclass(frozen=True, slots=True)
class Status:
    """What the status bar shows."""

    state: Literal["starting", "ready", "busy", "restricted", "no-jax", "stopped", "off", "consent"]
    text: str
    """`JAX 0.10.2 · cpu · ready`."""
    interpreter: str
    python: str
    jax: str | None
    policy: str
    """`traces on save`, `traces when asked`, `asks before it traces`, `never traces`."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StageProgress:
    """How far the work on a function is."""

    path: str
    function: str
    stage: str
    detail: str
    done: float | None
    seconds: float
