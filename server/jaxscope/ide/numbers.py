"""How figures are written, the same in every surface: editor, panel and command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jaxscope.text.figures import format_bytes as format_bytes
from jaxscope.text.figures import long_type as long_type

_SAMPLE = re.compile(r"(captured|hoisted) (\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
_DECIMAL = ("", "K", "M", "G", "T", "P", "E")
_SHORT = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}
DISPATCH_BOUND = 10e-6
"""Seconds per call below which the time is that of the dispatch, not of the program."""


def format_seconds(seconds: float) -> str:
    """`41 µs`, `12.0 ms`, `4.2 s`."""
    if seconds < 999.5e-6:
        return f"{seconds * 1e6:.1f} µs" if seconds < 9.95e-6 else f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms" if seconds >= 0.09995 else f"{seconds * 1e3:.1f} ms"
    return f"{seconds:.0f} s" if seconds >= 99.95 else f"{seconds:.1f} s"


def format_run_seconds(seconds: float) -> str:
    """The time of one call, with a word where it says more about the dispatch than about the program."""
    return format_seconds(seconds) + (" dispatch-bound" if seconds < DISPATCH_BOUND else "")


def readable_detail(detail: str) -> str:
    """A worker's word on its progress: of a sample, `captured 0.0642518`, as `captured, 64.3 ms`; else as it is."""
    if sample := _SAMPLE.fullmatch(detail):
        return f"{sample[1]}, {format_seconds(float(sample[2]))}"
    return detail


def format_count(count: int, word: str) -> str:
    """`1 constant`, `1,204 equations`."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def format_flops(flops: float) -> str:
    """`2.9 MFLOP`, decimal units as is the custom for operations."""
    value = float(flops)
    for prefix in _DECIMAL:
        if value < 999.5 or prefix == _DECIMAL[-1]:
            break
        value /= 1000
    return f"{value:.0f} FLOP" if prefix == "" else f"{value:.1f} {prefix}FLOP"


def format_ratio(ratio: float) -> str:
    """`1.8 ×`; whole numbers from 100 on, two decimals where one would say nothing."""
    if ratio < 1.05:
        return f"{ratio:.2f} ×"
    return f"{ratio:,.0f} ×" if ratio >= 99.5 else f"{ratio:.1f} ×"


def format_percent(share: float) -> str:
    """`81 %`, of a share from 0 to 1."""
    return f"{share * 100:.0f} %"


def short_dtype(dtype: str) -> str:
    """JAX's short name: `f32` for `float32`."""
    for name, short in _SHORT.items():
        if dtype.startswith(name):
            return short + dtype[len(name) :]
    return dtype


def short_type(dtype: str, shape: Sequence[int]) -> str:
    """`f32[3,700]`."""
    return f"{short_dtype(dtype)}[{','.join(map(str, shape))}]"
