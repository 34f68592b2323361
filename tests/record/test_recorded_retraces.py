"""Traces that a recorded run counted, as findings at the call: in the text, the JSON, the hover and the panel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from run_cli import jaxscope
from test_record import record, write

from jaxscope.config import Config
from jaxscope.ide.hover import Style, hover
from jaxscope.ide.panel import panel
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.text.span import Position

pytestmark = pytest.mark.jax

TRAIN = """
    import sys
    from functools import partial

    import jax
    import jax.numpy as jnp


    @jax.jit
    def total(x):
        return x.sum()


    @jax.jit
    def ema(avg, x):
        return 0.9 * avg + 0.1 * x


    @partial(jax.jit, static_argnames="n")
    def scale(x, n):
        return x * n


    @jax.jit
    def once(x):
        return x + 1


    def batches():
        return [[1.0] * len(word) for word in sys.argv[1:]]


    def main():
        avg = 0.0
        for batch in batches():
            total(jnp.array(batch))
            avg = ema(avg, jnp.float32(1.0))
            once(jnp.ones(3))
        for size in range(2, 5):
            scale(jnp.ones(3), size)
        for _ in range(4):
            jax.jit(lambda x: x - 1)(jnp.ones(2))


    def other():
        return 1


    if __name__ == "__main__":
        main()
"""
WORDS = ("a", "is", "the", "some", "words")


def retraces(folder: Path, *arguments: str) -> dict[int, dict[str, Any]]:
    """The findings by their line; there is one a call."""
    arguments = arguments or ("train.py", "--no-trace")
    done = jaxscope("check", *arguments, "--select", "retrace", "--format", "json", cwd=folder)
    assert done.status in (0, 1), done.err
    found = json.loads(done.out)["findings"]
    lines = [item["range"]["start"]["line"] for item in found]
    assert len(set(lines)) == len(lines), found
    return dict(zip(lines, found, strict=True))


def line_of(folder: Path, text: str, file: str = "train.py") -> int:
    lines = (folder / file).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return number


def test_each_call_has_one_finding_with_what_each_trace_differed_in(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    before = retraces(tmp_path)
    assert {item["evidence"] for item in before.values()} == {"static"}
    record(tmp_path, "train.py", *WORDS)
    found = retraces(tmp_path)
    at = {name: line_of(tmp_path, f" {name}(jnp.") for name in ("total", "scale")}
    at |= {"ema": line_of(tmp_path, "ema(avg, jnp"), "new": line_of(tmp_path, "jax.jit(lambda")}
    assert set(found) == set(at.values())
    evidence = {name: found[line]["evidence"] for name, line in at.items()}
    assert evidence == {"total": "traced", "scale": "both", "ema": "traced", "new": "both"}
    counts = {name: re.search(r"(\d+) t(?:races|imes)", found[line]["message"]) for name, line in at.items()}
    assert {name: int(count[1]) for name, count in counts.items() if count} == {
        "total": 5,
        "scale": 3,
        "ema": 2,
        "new": 4,
    }
    for item in found.values():
        assert "in the recorded run" in item["message"]
        assert re.search(r", \d+(\.\d)? m?s spent compiling again", item["message"])
    again = {name: _again(found[line]) for name, line in at.items()}
    assert again == {
        "total": [f"traced again: new shape of x: f32[{n}] → f32[{m}]" for n, m in ((1, 2), (2, 3), (3, 4), (4, 5))],
        "scale": ["traced again: static n: 2 → 3", "traced again: static n: 3 → 4"],
        "ema": ["traced again: weak type of avg: f32[] of a Python number → f32[]"],
        "new": ["traced again 3 times: a new function object with the same signature"],
    }
    said = jaxscope("check", "train.py", "--no-trace", "--select", "retrace", cwd=tmp_path).out
    assert said.count(" [recorded]\n") == 4
    assert "[traced]" not in said


def _again(item: dict[str, Any]) -> list[str]:
    return [one["message"] for one in item["related"] if one["message"].startswith("traced again")]


def test_seconds_are_those_of_the_programs_that_were_compiled_again(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    done = record(tmp_path, "--format", "json", "train.py", *WORDS)
    rows = {row["function"]: row for row in json.loads(done.out)["functions"]}
    for name in ("total", "scale", "ema"):
        (call,) = rows[name]["retraced"]
        signatures = sorted(rows[name]["signatures"], key=lambda one: one["cause"] != "first call")
        later = sum(one["compile_seconds"] for one in signatures[1:])
        assert call["compile_seconds_again"] == pytest.approx(later)
        assert [one["cause"] for one in call["causes"]] == [one["cause"] for one in signatures[1:]]
        assert call["traces"] == len(signatures)
    assert rows["once"]["retraced"] == []
    said = record(tmp_path, "train.py", *WORDS).err
    place = f"called at train.py:{line_of(tmp_path, ' total(jnp')}: traced 5 times, "
    assert place in said
    assert " compiling again: new shape of x: f32[1] → f32[2]; new shape of x: f32[2] → f32[3]; …" in said


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("return x.sum()", "return x.mean()", {"total"}),
        ("range(2, 5)", "range(2, 4)", {"total", "ema", "scale", "new"}),
        ("import sys\n", "import sys\nflag = 1\n", {"total", "ema", "scale", "new"}),
        ("return 1\n", "return 2\n", set()),
        ("import sys\n", "# one\n# two\nimport sys\n", set()),
    ],
)
def test_a_recording_counts_while_its_code_is_what_it_was(old: str, new: str, gone: set[str], tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", *WORDS)
    text = (tmp_path / "train.py").read_text()
    assert text.count(old) == 1
    (tmp_path / "train.py").write_text(text.replace(old, new))
    found = retraces(tmp_path)
    at = {name: line_of(tmp_path, f" {name}(jnp.") for name in ("total", "scale")}
    at |= {"ema": line_of(tmp_path, "ema(avg, jnp"), "new": line_of(tmp_path, "jax.jit(lambda")}
    seen = {name for name, line in at.items() if found.get(line, {"evidence": "static"})["evidence"] != "static"}
    assert seen == set(at) - gone


def test_a_newer_run_without_retraces_takes_them_back(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", *WORDS)
    total = line_of(tmp_path, " total(jnp")
    assert total in retraces(tmp_path)
    record(tmp_path, "train.py", "one", "two")
    assert total not in retraces(tmp_path)


KEPT = """
    import jax
    import jax.numpy as jnp


    class Filter:
        def __init__(self, gain):
            self.gain = gain
            self.first = self.apply

        def apply(self, x):
            return self.gain * x

        def __call__(self, x):
            return jax.jit(self.apply)(x)


    def main():
        smooth = Filter(2.0)
        x = jax.jit(smooth.first)(jnp.ones(3))
        for _ in range(4):
            x = smooth(x)


    if __name__ == "__main__":
        main()
"""


def test_a_recorded_run_refutes(tmp_path: Path) -> None:
    write(tmp_path, train_py=KEPT)
    assert len(retraces(tmp_path)) == 1
    record(tmp_path, "train.py")
    assert retraces(tmp_path) == {}
    said = jaxscope("check", "train.py", "--no-trace", "--select", "retrace", "--verbose", cwd=tmp_path).out
    assert "In the recorded run 4 calls used one trace." in said


ALIKE = """
    import jax
    import jax.numpy as jnp


    def main():
        x = jnp.ones(2)
        one, two = jax.jit(lambda x: x - 1), jax.jit(lambda x: x * 3)
        one(x), two(x)
        for _ in range(3):
            jax.jit(lambda x: x + 1)(x), jax.jit(lambda x: x / 2)(x)
        for _ in range(2):
            def step(x):
                return x + 1
            jax.jit(step)(x)
        if x.ndim:
            def step(x):
                return x + 2
            jax.jit(step)(x)


    if __name__ == "__main__":
        main()
"""


def test_functions_that_share_a_name_are_counted_apart(tmp_path: Path) -> None:
    write(tmp_path, train_py=ALIKE)
    done = record(tmp_path, "--format", "json", "train.py")
    rows = json.loads(done.out)["functions"]
    steps = {row["line"]: row["traces"] for row in rows if row["function"].endswith("step")}
    assert sorted(steps.values()) == [1, 2]
    lambdas = [(row["line"], row["traces"]) for row in rows if row["function"].endswith("<lambda>")]
    apart, loop = line_of(tmp_path, "one, two = "), line_of(tmp_path, "x / 2")
    assert lambdas == [(apart, 1), (apart, 1), (loop, 3), (loop, 3)]
    done = jaxscope("check", "train.py", "--no-trace", "--select", "retrace", "--format", "json", cwd=tmp_path)
    found = json.loads(done.out)["findings"]
    seen = [
        (item["range"]["start"]["line"], re.findall(r"(\d) traces", item["message"]))
        for item in found
        if item["evidence"] != "static"
    ]
    inner = line_of(tmp_path, "return x + 1") + 1
    assert seen == [(loop, ["3"]), (loop, ["3"]), (inner, ["2"])]


def test_a_call_in_another_file_than_the_function(tmp_path: Path) -> None:
    library = "import jax\n\n@jax.jit\ndef total(x):\n    return x.sum()\n"
    train = "import sys\nimport jax.numpy as jnp\nimport library\n\ndef main():\n    for word in sys.argv[1:]:\n"
    train += "        library.total(jnp.array([1.0] * len(word)))\n\nmain()\n"
    write(tmp_path, library_py=library, train_py=train)
    record(tmp_path, "train.py", *WORDS)
    assert list(retraces(tmp_path)) == [7]
    assert retraces(tmp_path, "library.py", "--no-trace") == {}
    (tmp_path / "library.py").write_text(library.replace("sum", "mean"))
    assert retraces(tmp_path) == {}


def test_the_hover_and_the_panel_show_it(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", *WORDS)
    path = str(tmp_path / "train.py")
    workspace = Workspace(str(tmp_path), Config())
    line = line_of(tmp_path, " total(jnp")
    (finding,) = [one for one in workspace.findings(path) if one.rule == "retrace" and one.range.start.line == line]
    assert finding.recorded
    shown = hover(workspace, path, finding.range.start, Situation(), Style(lambda title, link: "", False))
    assert shown is not None and shown.range == finding.range
    assert "Seen in a recorded run." in shown.markdown
    for before, after in ((1, 2), (2, 3), (3, 4), (4, 5)):
        assert f":{line} traced again: new shape of x: f32[{before}] → f32[{after}]" in shown.markdown
    assert "the next power of two" in shown.markdown
    model = panel(workspace, path, "total", None, Situation())
    rows = [(row.line, row.evidence, row.message) for row in model.findings if row.rule == "retrace"]
    assert rows == [(line, "recorded", finding.message)]
    assert hover(workspace, path, Position(line, 5), Situation(), Style(lambda title, link: "", False)) is None
    new = line_of(tmp_path, "jax.jit(lambda")
    site = hover(workspace, path, Position(new, 10), Situation(), Style(lambda title, link: "", False))
    assert site is not None and "traced again 3 times: a new function object" in site.markdown


def test_too_little_for_a_finding_is_told_in_the_hover(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", "one", "word")
    path, line = str(tmp_path / "train.py"), line_of(tmp_path, " total(jnp")
    workspace = Workspace(str(tmp_path), Config())
    assert not [one for one in workspace.findings(path) if one.range.start.line == line]
    column = (tmp_path / "train.py").read_text().splitlines()[line - 1].index("total") + 2
    shown = hover(workspace, path, Position(line, column), Situation(), Style(lambda title, link: "", False))
    assert shown is not None
    said, why = shown.markdown.splitlines()
    assert re.fullmatch(r"`total` was traced 2 times here in the recorded run, [\d.]+ m?s compiling again:", said)
    assert why == "- new shape of x: f32[3] → f32[4]"


def test_a_run_of_the_present_text_goes_before_a_recorded_one(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", *WORDS)
    found = retraces(tmp_path, "train.py", "--run", "main")  # without words: `total` and `ema` are not called
    runs = {line: re.findall(r"in (this|the recorded) run", item["message"]) for line, item in found.items()}
    assert runs == {
        line_of(tmp_path, " total(jnp"): ["the recorded"],
        line_of(tmp_path, "ema(avg, jnp"): ["the recorded"],
        line_of(tmp_path, " scale(jnp"): ["this"],
        line_of(tmp_path, "jax.jit(lambda"): ["this"],
    }
