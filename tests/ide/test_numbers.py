"""The number rules of the editor surfaces."""

from __future__ import annotations

import pytest

from jaxscope.ide import numbers


@pytest.mark.parametrize(
    ("count", "text"),
    [(41, "41 B"), (0, "0 B"), (1023, "1023 B"), (4321, "4.2 KiB"), (1960000, "1.9 MiB"), (31457280, "30.0 MiB"),
     (1048575, "1.0 MiB"), (4 << 30, "4.0 GiB")],
)  # fmt: skip
def test_bytes(count: int, text: str) -> None:
    assert numbers.format_bytes(count) == text


def test_bytes_in_a_column_have_two_decimals() -> None:
    assert numbers.format_bytes(9 << 20, 2) == "9.00 MiB"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(41e-6, "41 µs"), (8.3e-6, "8.3 µs"), (0.012, "12.0 ms"), (0.0417, "41.7 ms"), (0.4123, "412 ms"), (4.2, "4.2 s"),
     (0.99996, "1.0 s"), (0.0009996, "1.0 ms"), (123.4, "123 s"), (0.00009999, "100 µs")],
)  # fmt: skip
def test_seconds(seconds: float, text: str) -> None:
    assert numbers.format_seconds(seconds) == text


def test_a_call_below_ten_microseconds_is_dispatch_bound() -> None:
    assert numbers.format_run_seconds(8e-6) == "8.0 µs dispatch-bound"
    assert numbers.format_run_seconds(11e-6) == "11 µs"


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [("float32", (3, 700), "f32[3,700]"), ("bfloat16", (8,), "bf16[8]"), ("uint8", (), "u8[]"),
     ("bool", (2,), "bool[2]"), ("complex64", (1,), "c64[1]"), ("int32", (), "i32[]"),
     ("float8_e4m3fn", (4,), "f8_e4m3fn[4]"),
     ("key<fry>", (), "key<fry>[]")],
)  # fmt: skip
def test_short_type(dtype: str, shape: tuple[int, ...], text: str) -> None:
    assert numbers.short_type(dtype, shape) == text


def test_counts_flops_ratios() -> None:
    assert numbers.format_count(1, "constant") == "1 constant"
    assert numbers.format_count(1204, "equation") == "1,204 equations"
    assert numbers.format_flops(2.94e6) == "2.9 MFLOP"
    assert numbers.format_flops(15.4e9) == "15.4 GFLOP"
    assert numbers.format_flops(12) == "12 FLOP"
    assert numbers.format_ratio(1.84) == "1.8 ×"
    assert numbers.format_ratio(1.03) == "1.03 ×"
    assert numbers.format_ratio(7281.0) == "7,281 ×"
    assert numbers.format_percent(0.806) == "81 %"


@pytest.mark.parametrize(
    ("detail", "text"),
    [("captured 0.064251796", "captured, 64.3 ms"), ("hoisted 4.1e-05", "hoisted, 41 µs"),
     ("making arguments", "making arguments"), ("captured", "captured"), ("block", "block")],
)  # fmt: skip
def test_the_progress_of_a_measurement_has_its_seconds_written_out(detail: str, text: str) -> None:
    assert numbers.readable_detail(detail) == text
