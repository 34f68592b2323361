"""What was measured, compared only where the figures allow it."""

from __future__ import annotations

from statistics import median, quantiles

from jaxscope.ide.numbers import format_count, format_percent, format_ratio
from jaxscope.ide.panel_model import Comparison, FormTimings, Spread, Timings
from jaxscope.worker.jaxscope_worker.wire.timing import FormCost, Samples, TimeReply

LEAST_SAMPLES = 7
WIDEST = 0.2
"""Share of the median that the interquartile range may take for a comparison."""


def timings(reply: TimeReply) -> Timings:
    """The Timings tab of one measurement."""
    forms = tuple(_form(item) for item in reply.forms)
    alarms = dict.fromkeys(alarm for item in reply.forms for alarm in item.alarms)
    return Timings(
        device=_device(reply),
        forms=forms,
        comparison=_comparison(forms),
        alarms=tuple(alarms),
        hlo_instructions=reply.hlo_instructions,
        fusions=reply.fusions,
        difference=reply.largest_difference,
    )


def spread(samples: Samples) -> Spread:
    """Minimum, median and interquartile range of at least one duration."""
    ordered = tuple(sorted(samples.seconds))
    iqr = 0.0
    if len(ordered) > 1:
        low, _, high = quantiles(ordered, n=4, method="inclusive")
        iqr = high - low
    return Spread(samples.stage, ordered[0], median(ordered), iqr, len(ordered), ordered)


def verdict(captured: Spread, hoisted: Spread) -> str:
    """Hoisted against captured in words, by the comparison rule."""
    fewest = min(captured.runs, hoisted.runs)
    if fewest < LEAST_SAMPLES:
        return "one sample: not compared" if fewest == 1 else f"{format_count(fewest, 'sample')}: not compared"
    widest = max((item.iqr / item.median if item.median else 0.0) for item in (captured, hoisted))
    if widest > WIDEST:
        return f"? spread too wide to tell (IQR {format_percent(widest)} of median)"
    low_a, high_a = _middle(captured)
    low_b, high_b = _middle(hoisted)
    if low_a <= high_b and low_b <= high_a:
        return "≈ no significant difference"
    return _ratio(captured.median, hoisted.median, "faster", "slower")


def _middle(item: Spread) -> tuple[float, float]:
    low, _, high = quantiles(item.samples, n=4, method="inclusive")
    return low, high


def _ratio(captured: float, hoisted: float, better: str, worse: str) -> str:
    if captured >= hoisted:
        return f"{format_ratio(captured / hoisted)} {better}" if hoisted else ""
    return f"{format_ratio(hoisted / captured)} {worse}" if captured else ""


def _device(reply: TimeReply) -> str:
    if reply.device == "cpu":
        simulated = f", {reply.device_count} simulated devices" if reply.device_count > 1 else ""
        return f"cpu {format_count(reply.cores, 'core')}{simulated}"
    return reply.device if reply.device_count == 1 else f"{reply.device} × {reply.device_count}"


def _form(cost: FormCost) -> FormTimings:
    return FormTimings(
        form=cost.form,
        stages=tuple(spread(item) for item in cost.samples if item.seconds),
        module_bytes=cost.module_bytes,
        host_peak_bytes=cost.host_peak_bytes,
        argument_bytes=cost.argument_bytes,
        output_bytes=cost.output_bytes,
        temp_bytes=cost.temp_bytes,
        constant_bytes=cost.constant_bytes,
        code_bytes=cost.generated_code_bytes,
        flops=cost.flops,
        stopped=cost.stopped,
    )


def _comparison(forms: tuple[FormTimings, ...]) -> tuple[Comparison, ...]:
    by_form = {item.form: item for item in forms}
    if set(by_form) != {"captured", "hoisted"}:
        return ()
    captured, hoisted = by_form["captured"], by_form["hoisted"]
    rows = [
        _bytes_row("StableHLO module", captured.module_bytes, hoisted.module_bytes),
        _seconds_row("lower", captured, hoisted),
        _seconds_row("compile", captured, hoisted),
        _bytes_row("host memory, compiling", captured.host_peak_bytes, hoisted.host_peak_bytes, measured=True),
        _bytes_row("generated code", captured.code_bytes, hoisted.code_bytes),
        _bytes_row("arguments per call", captured.argument_bytes, hoisted.argument_bytes),
        _seconds_row("run", captured, hoisted),
    ]
    return tuple(row for row in rows if row is not None)


def _bytes_row(label: str, captured: int | None, hoisted: int | None, measured: bool = False) -> Comparison | None:
    if captured is None and hoisted is None:
        return None
    words = ""
    if measured and captured is not None and hoisted is not None:
        words = "one sample: not compared"
    elif captured is not None and hoisted is not None:
        words = "same" if captured == hoisted else _ratio(captured, hoisted, "smaller", "larger")
    return Comparison(label, "bytes", "peak, measured once" if measured else "", captured, hoisted, words)


def _seconds_row(label: str, captured: FormTimings, hoisted: FormTimings) -> Comparison | None:
    first = next((item for item in captured.stages if item.stage == label), None)
    second = next((item for item in hoisted.stages if item.stage == label), None)
    if first is None and second is None:
        return None
    runs = min(item.runs for item in (first, second) if item)
    note = f"median of {runs}" if runs > 1 else "one sample"
    words = verdict(first, second) if first and second else ""
    if first is None and captured.stopped and label == "compile":
        words = f"captured: {captured.stopped}"
    return Comparison(label, "seconds", note, first.median if first else None, second.median if second else None, words)
