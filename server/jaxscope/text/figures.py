"""How sizes and array types are written in sentences."""

from __future__ import annotations

_BINARY = ("KiB", "MiB", "GiB", "TiB", "PiB")


def format_bytes(count: float, decimals: int = 1) -> str:
    """`1.9 MiB`, binary units; whole bytes below 1 KiB. `decimals`: 1 in prose, 2 in a column."""
    if abs(count) < 1024:
        return f"{round(count)} B"
    value, power = count / 1024, 0
    while abs(value) >= 1024 - 0.5 * 10**-decimals and power < len(_BINARY) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.{decimals}f} {_BINARY[power]}"


def long_type(dtype: str, shape: tuple[int, ...]) -> str:
    """`float32[3,700]`."""
    return f"{dtype}[{','.join(map(str, shape))}]"
