"""The comparison rule: a ratio is shown only where the samples allow it."""

from __future__ import annotations

from replay import traced

from jaxscope.ide.program import program_text
from jaxscope.ide.timings import spread, timings, verdict
from jaxscope.worker.jaxscope_worker.wire.timing import FormCost, Samples, TimeReply


def run(*seconds: float) -> Samples:
    return Samples("run", seconds)


def around(middle: float, width: float, count: int = 9) -> Samples:
    return run(*(middle + width * (index - count // 2) / count for index in range(count)))


def test_spread() -> None:
    found = spread(run(4.0, 1.0, 3.0, 2.0, 5.0))
    assert (found.minimum, found.median, found.iqr, found.runs) == (1.0, 3.0, 2.0, 5)
    assert found.samples == (1.0, 2.0, 3.0, 4.0, 5.0)


def test_one_sample_is_not_compared() -> None:
    assert verdict(spread(run(1.0)), spread(run(2.0))) == "one sample: not compared"
    assert verdict(spread(run(1.0, 1.0)), spread(around(2.0, 0.01))) == "2 samples: not compared"


def test_a_wide_spread_is_not_compared() -> None:
    wide = spread(run(1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0))
    assert verdict(wide, spread(around(9.0, 0.1))) == "? spread too wide to tell (IQR 100 % of median)"


def test_overlapping_middles_are_no_difference() -> None:
    assert verdict(spread(around(1.0, 0.2)), spread(around(1.05, 0.2))) == "≈ no significant difference"


def test_else_the_ratio_of_the_medians_with_its_word() -> None:
    assert verdict(spread(around(1.8, 0.01)), spread(around(1.0, 0.01))) == "1.8 × faster"
    assert verdict(spread(around(1.0, 0.01)), spread(around(2.5, 0.01))) == "2.5 × slower"


def cost(form: str, module: int, peak: int) -> FormCost:
    return FormCost(form, (around(1.0, 0.01),), module, peak, 1, 2, 3, 4, 5, 6.0, 7.0, ("slow folding",))  # type: ignore[arg-type]


def test_bytes_are_exact_but_a_peak_was_measured_once() -> None:
    found = timings(TimeReply("cpu", 1, 2, (cost("captured", 4000, 10), cost("hoisted", 1000, 5)), 0.0))
    rows = {row.label: row for row in found.comparison}
    assert rows["StableHLO module"].verdict == "4.0 × smaller"
    assert rows["host memory, compiling"].verdict == "one sample: not compared"
    assert rows["arguments per call"].verdict == "same"
    assert rows["run"].note == "median of 9"
    assert found.device == "cpu 2 cores" and found.alarms == ("slow folding",)


def test_one_form_alone_has_no_verdicts() -> None:
    assert timings(TimeReply("cpu", 1, 1, (cost("captured", 1, 1),), None)).comparison == ()


def test_a_real_measurement() -> None:
    found = traced("whitener").timed
    assert [form.form for form in found.forms] == ["captured", "hoisted"]
    rows = {row.label: row for row in found.comparison}
    assert rows["StableHLO module"].verdict.endswith("× smaller")
    assert set(rows) >= {"lower", "compile", "run"}
    for form in found.forms:
        assert all(item.minimum <= item.median <= item.samples[-1] for item in form.stages)


def test_a_real_program() -> None:
    replay = traced("whitener")
    facts = replay.workspace.function(replay.path, "whiten")
    assert facts and facts.shown
    found = program_text(replay.lowered, facts.shown)
    assert [row.captured for row in found.rows if row.literal == "captured"] == ["BASIS"]
    assert 0 < found.located <= found.operations < len(found.rows)
    dot = next(row for row in found.rows if row.op == "dot_general")
    assert [(place.path, place.line) for place in dot.lines] == [(replay.path, 13)]
