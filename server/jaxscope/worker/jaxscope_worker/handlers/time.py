"""`time`: how long the stages of a traced function take, and what they need, as it is and with hoisted constants.

The two forms alternate, so that whatever else the machine does meanwhile falls on both. Each sample is reported as it
comes (`detail` is the form and the seconds, `captured 0.00123`), since a cancelled measurement keeps what there is.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from .. import arguments, executable, lowering, retracing, rows
from ..failing import Failed, failure_of
from ..lowering import Form, Lowered
from ..measuring import Runner, enough, listening, peak_memory
from ..session import Program, Session
from ..sources import UserFiles
from ..wire.timing import FormCost, Samples, TimeReply, TimeRequest

Report = Callable[[str, str, "float | None"], None]


def handle(session: Session, request: TimeRequest, progress: Report) -> TimeReply:
    """Answers a time request. Raises Failed for an unknown function, or one that does not compile or run."""
    program = lowering.program_of(session, request.function)
    files = session.files or UserFiles(os.getcwd())
    timing = _Timing(program, request, progress, files)
    try:
        with _no_stored_programs():
            return timing.measure()
    except Exception as error:
        raise Failed(failure_of(error, files)) from error


@dataclass
class _Side:
    """One form being measured."""

    form: Form
    trace: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    compile: list[float] = field(default_factory=list)
    compiled: Any = None
    module_bytes: int | None = None
    peak_bytes: int | None = None
    printed: str = ""
    named: executable.Places = field(default_factory=dict)
    hlo: executable.Hlo | None = None
    runner: Runner | None = None
    results: Any = None

    def cost(self) -> FormCost:
        memory, (flops, moved) = executable.memory(self.compiled), executable.cost(self.compiled)
        stages = {"trace": self.trace, "lower": self.lower, "compile": self.compile}
        samples = [Samples(stage, tuple(seconds)) for stage, seconds in stages.items()]  # type: ignore[arg-type]
        if self.runner is not None:
            samples.append(Samples("run", tuple(self.runner.seconds), self.runner.per_batch))
        return FormCost(
            form=self.form.name,  # type: ignore[arg-type]
            samples=tuple(each for each in samples if each.seconds),
            module_bytes=self.module_bytes,
            host_peak_bytes=self.peak_bytes,
            generated_code_bytes=memory.code,
            argument_bytes=memory.arguments,
            output_bytes=memory.outputs,
            temp_bytes=memory.temporaries,
            constant_bytes=self.hlo.constant_bytes if self.hlo is not None else None,
            flops=flops,
            bytes_accessed=moved,
            alarms=executable.alarms(self.printed, self.hlo.frames if self.hlo is not None else {}, self.named),
        )


class _Timing:
    def __init__(self, program: Program, request: TimeRequest, progress: Report, files: UserFiles) -> None:
        self.program, self.seconds, self.progress, self.files = program, max(request.seconds, 0.01), progress, files
        self.sides = [_Side(lowering.form_of(program, form)) for form in dict.fromkeys(request.forms)]

    def measure(self) -> TimeReply:
        # The user's code runs here too, its body and its callbacks: the guard of the trace still stands.
        self._trace()
        self._build()
        self._run()
        first, device = self.sides[0], jax.devices()[0]
        return TimeReply(
            device=device.platform if device.platform == "cpu" else device.device_kind,
            device_count=jax.device_count(),
            cores=_cores(),
            forms=tuple(side.cost() for side in self.sides),
            largest_difference=self._difference(),
            hlo_instructions=first.hlo.instructions if first.hlo is not None else None,
            fusions=first.hlo.fusions if first.hlo is not None else None,
        )

    def _trace(self) -> None:
        """Both forms come of one trace; its time stands with the first. What cannot be traced again has none."""
        side, call, started = self.sides[0], self.program.call, time.perf_counter()
        while call is not None and not enough(len(side.trace), time.perf_counter() - started, self.seconds):
            try:
                side.trace.append(retracing.seconds(call))
            except Exception:
                side.trace.clear()
                return
            self._report("tracing", side, side.trace[-1])

    def _build(self) -> None:
        started = time.perf_counter()
        while not enough(len(self.sides[0].compile), time.perf_counter() - started, self.seconds * len(self.sides)):
            for side in self.sides:
                self._lower_and_compile(side)

    def _lower_and_compile(self, side: _Side) -> None:
        jax.clear_caches()
        module = lowering.lower(side.form)
        side.lower.append(module.seconds)
        self._report("lowering", side, module.seconds)
        if side.compiled is not None:
            self._compile(side, module.lowered)
            return
        self._prepare(side, module)
        self.progress("compiling", side.form.name, None)
        with listening(self._alarms(side)) as heard, peak_memory() as peak:
            side.compiled = self._compile(side, module.lowered)
        side.printed, side.peak_bytes = heard.text, peak.bytes
        side.hlo = executable.hlo(side.compiled)

    def _prepare(self, side: _Side, module: Lowered) -> None:
        """What must be read before XLA has the module to itself."""
        side.module_bytes = lowering.bytecode_size(module.lowered)
        side.named = rows.places_by_name(module, self.program, self.files)

    def _alarms(self, side: _Side) -> Callable[[str], None]:
        """Tells of XLA's alarms as they come: they are all that is known of a compilation that never ends."""
        told: set[str] = set()

        def tell(printed: str) -> None:
            for alarm in executable.alarms(printed, {}, side.named):
                if alarm not in told:
                    told.add(alarm)
                    self.progress("alarm", alarm, None)

        return tell

    def _compile(self, side: _Side, lowered: Any) -> Any:
        started = time.perf_counter()
        compiled = lowered.compile()
        side.compile.append(time.perf_counter() - started)
        self._report("compiling", side, side.compile[-1])
        return compiled

    def _run(self) -> None:
        staged = self.sides[0].form.staged
        shardings = self.sides[0].form.options.get("in_shardings", (None,))[1:] or None
        self.progress("running", "making arguments", None)
        operands = arguments.make(staged.argument_avals, shardings)
        for side in self.sides:
            held = zip(side.form.staged.constants, side.form.staged.constant_avals, strict=True)
            constants = tuple(_on_device(constant, aval) for constant, aval in held)
            side.runner = Runner(_call(side.compiled, constants, operands), self._alive(side))
            side.results = side.runner.warm_up()
        gc.collect()
        gc.disable()
        try:
            self._batches()
        finally:
            gc.enable()

    def _alive(self, side: _Side) -> Callable[[], None]:
        return lambda: self.progress("running", f"{side.form.name}, warming up", None)

    def _batches(self) -> None:
        started, rounds = time.perf_counter(), 0
        while not enough(rounds, time.perf_counter() - started, self.seconds * len(self.sides)):
            rounds += 1
            for side in self.sides:
                assert side.runner is not None
                self._report("running", side, side.runner.sample())

    def _report(self, stage: str, side: _Side, seconds: float) -> None:
        self.progress(stage, f"{side.form.name} {seconds:.9g}", None)

    def _difference(self) -> float | None:
        if len(self.sides) < 2:
            return None
        first, second = (jax.tree_util.tree_leaves(side.results) for side in self.sides)
        pairs = zip(first, second, strict=True)
        try:
            return max((largest_difference(a, b) for a, b in pairs), default=0.0)
        except (TypeError, ValueError, RuntimeError):  # spread over processes, or no numbers
            return None


def _call(compiled: Any, constants: tuple[Any, ...], operands: list[Any]) -> Callable[[], Any]:
    return lambda: compiled(constants, *operands)


def _on_device(constant: Any, aval: Any) -> Any:
    """A hoisted constant where the program wants it: what the user's own code would have had to do once."""
    if isinstance(constant, jax.Array):
        return constant
    return jax.device_put(np.asarray(getattr(constant, "val", constant)).astype(aval.dtype, copy=False))


def largest_difference(a: Any, b: Any) -> float:
    """Largest absolute difference of two arrays; two NaN in one place differ by nothing. In pieces, to save memory."""
    if jax.dtypes.issubdtype(a.dtype, jax.dtypes.extended):
        a, b = jax.random.key_data(a), jax.random.key_data(b)
    left, right = np.asarray(a).reshape(-1), np.asarray(b).reshape(-1)
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    largest = 0.0
    for start in range(0, left.size, 1 << 20):
        p, q = left[start : start + (1 << 20)].astype(wide), right[start : start + (1 << 20)].astype(wide)
        with np.errstate(invalid="ignore"):
            gap = np.where((p == q) | (np.isnan(p) & np.isnan(q)), 0.0, np.abs(p - q))
        largest = max(largest, float(np.where(np.isnan(gap), np.inf, gap).max()))
    return largest


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _no_stored_programs() -> Iterator[None]:
    """A compilation that JAX reads from its cache on disk is none."""
    before = bool(getattr(jax.config, "jax_enable_compilation_cache", False))
    if not before or not getattr(jax.config, "jax_compilation_cache_dir", None):
        yield
        return
    from jax.experimental.compilation_cache import compilation_cache

    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
        compilation_cache.reset_cache()
