"""Costs of a traced function: how long its stages take, and what its programs need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Samples:
    """Measured durations of one stage, in seconds, in the order taken."""

    stage: Literal["trace", "lower", "compile", "run"]
    seconds: tuple[float, ...]
    per_batch: int = 1
    """Calls in one batch; each entry of `seconds` is already per call."""


@dataclass(frozen=True)
class TimeRequest:
    """Times the stages of one traced function on the worker's device, with arguments made from its avals."""

    function: str
    forms: tuple[Literal["captured", "hoisted"], ...] = ("captured",)
    """With both, the two alternate in batches."""
    seconds: float = 1.0
    """How long to repeat each stage at most, once its least number of samples (7) is there."""


@dataclass(frozen=True)
class FormCost:
    """One form's costs."""

    form: Literal["captured", "hoisted"]
    samples: tuple[Samples, ...]
    module_bytes: int | None
    host_peak_bytes: int | None
    """Rise of the process's peak memory while compiling; None where it cannot be known."""
    generated_code_bytes: int | None
    argument_bytes: int | None
    """Bytes of all arguments of one call, the hoisted constants included."""
    output_bytes: int | None
    temp_bytes: int | None
    constant_bytes: int | None
    flops: float | None
    bytes_accessed: float | None
    alarms: tuple[str, ...] = ()
    """What XLA printed about slow constant folding."""
    stopped: str = ""
    """Why the rest is not known: `stopped after 60 s (jaxscope.trace.timeout)`, while it compiled."""


@dataclass(frozen=True)
class TimeReply:
    """Costs of the forms asked for, on one device."""

    device: str
    """`cpu`, or the device's kind."""
    device_count: int
    cores: int
    forms: tuple[FormCost, ...]
    largest_difference: float | None
    """Largest absolute difference of the two forms' results; None when only one ran."""
    hlo_instructions: int | None = None
    fusions: int | None = None
