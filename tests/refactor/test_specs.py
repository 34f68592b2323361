"""The examples in the Markdown files: "Pass `W` into `f`.", "Ignore `rule` on line N.", "Donate `a` at `jit(f)`.",
"Print on line N when the program runs.", "Call `logging.info` of line N when the program runs.",
"Draw what line N draws from a key.", "Say the dtype of `X`.",
"Enable x64 for line N.", "Keep `log` of line N outside.", "Compute `table` of line N at once."."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_specs import Section, bless, sections
from program_runner import Runner, same

from jaxscope.refactor import (
    compute_at_once,
    debug_callback,
    debug_print,
    donate,
    enable_x64,
    random_key,
    return_state,
    say_dtype,
)
from jaxscope.refactor.change import Hoist, Refusal
from jaxscope.refactor.suppress import ignore_on_line
from jaxscope.refactor.to_argument.hoist_argument import plan
from jaxscope.refactor.unused_imports import without_unused
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import LineIndex, Position, Range

_PASS = re.compile(r"^Pass `(.+?)` into `(.+?)`(?: \(line (\d+)\))?(?: of `(.+?)`)?\.", re.MULTILINE)
_CHANGING = re.compile(r"^Pass `(.+?)`, which changes, into `(.+?)`\.", re.MULTILINE)
_IGNORE = re.compile(r"^Ignore `(.+?)` on line (\d+)\.", re.MULTILINE)
_PRINT = re.compile(r"^Print on line (\d+) when the program runs\.", re.MULTILINE)
_LOG = re.compile(r"^Call `(.+?)` of line (\d+) when the program runs\.", re.MULTILINE)
_DRAW = re.compile(r"^Draw what line (\d+) draws from a key\.", re.MULTILINE)
_DRAWS = re.compile(r"(?:np\.random|random|rng)\.\w+")
_SAY = re.compile(r"^Say the dtype of `(.+?)`(?: on line (\d+))?\.", re.MULTILINE)
_ENABLE = re.compile(r"^Enable x64 for line (\d+)\.", re.MULTILINE)
_KEEP = re.compile(r"^Keep `(.+?)` of line (\d+) outside\.", re.MULTILINE)
_AT_ONCE = re.compile(r"^Compute `(.+?)` of line (\d+) at once\.", re.MULTILINE)
_CODE = re.compile(r"`(.+?)`")
_DONATE = re.compile(r"^Donate (`.+`) at `(.+?)`\.", re.MULTILINE)
SECTIONS = list(sections(Path(__file__).parent))


def asked(section: Section, folder: Path) -> SourceChange | Refusal:
    """Makes the project of the section and plans what it asks for."""
    project = Project(str(folder))
    answer = _planned(section, folder, project)
    return answer if isinstance(answer, Refusal) else without_unused(project, answer)


def _planned(section: Section, folder: Path, project: Project) -> SourceChange | Refusal:
    for name, text in section.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    case = str(folder / "case.py")
    if match := _PASS.search(section.text):
        path = str(folder / (match[4] or "case.py"))
        return plan(project, path, match[2], match[1], int(match[3]) if match[3] else None)
    if match := _CHANGING.search(section.text):
        return plan(project, case, match[2], match[1], changes=True)
    if match := _DONATE.search(section.text):
        return donate.plan(project, case, _place(section.files["case.py"], match[2]), tuple(_CODE.findall(match[1])))
    if match := _PRINT.search(section.text):
        return debug_print.plan(project, case, _on_line(section.files["case.py"], int(match[1]), "print"))
    if match := _LOG.search(section.text):
        text = section.files["case.py"]
        return debug_callback.plan(project, case, _on_line(text, int(match[2]), match[1]))
    if match := _DRAW.search(section.text):
        return random_key.plan(project, case, _drawn(section.files["case.py"], int(match[1])))
    if match := _SAY.search(section.text):
        text, line = section.files["case.py"], int(match[2] or 0)
        place = _on_line(text, line, match[1]) if line else _place(text, match[1])
        return say_dtype.plan(project, case, place)
    if match := _ENABLE.search(section.text):
        return enable_x64.plan(project, case, int(match[1]))
    if match := _KEEP.search(section.text):
        return return_state.plan(project, case, _on_line(section.files["case.py"], int(match[2]), match[1]))
    if match := _AT_ONCE.search(section.text):
        return compute_at_once.plan(project, case, _on_line(section.files["case.py"], int(match[2]), match[1]))
    match = _IGNORE.search(section.text)
    assert match, "the section asks for nothing"
    module = project.module(case)
    assert module is not None
    return ignore_on_line(module, match[1], int(match[2]))


def _drawn(text: str, line: int) -> Range:
    match = _DRAWS.search(text.split("\n")[line - 1])
    assert match is not None
    return _on_line(text, line, match.group())


def _on_line(text: str, line: int, part: str) -> Range:
    column = text.split("\n")[line - 1].index(part) + 1
    return Range(Position(line, column), Position(line, column + len(part)))


def _place(text: str, part: str) -> Range:
    lines, start = LineIndex(text), text.index(part)
    return Range(lines.position(start), lines.position(start + len(part)))


@pytest.mark.parametrize("section", SECTIONS, ids=[section.id for section in SECTIONS])
def test_specification(section: Section, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    answer = asked(section, tmp_path)
    after, refused, doubts = {}, None, []
    if isinstance(answer, Refusal):
        refused = f"{Path(answer.path).relative_to(tmp_path)}:{answer.line}: {answer.reason}"
    else:
        after = {str(Path(file.path).relative_to(tmp_path)): file.changed for file in answer.files}
        doubts = [
            f"{Path(each.path).relative_to(tmp_path)}:{each.line}: {each.reason}"
            for each in (answer.doubts if isinstance(answer, Hoist) else ())
        ]
    if request.config.getoption("--bless"):
        bless(section, after, refused, doubts)
        return
    assert refused == section.refused
    assert after == section.after
    assert "\n".join(doubts) == section.doubts


@pytest.mark.parametrize("section", SECTIONS, ids=[section.id for section in SECTIONS])
def test_law_of_changes(section: Section, tmp_path: Path) -> None:
    """A change parses, keeps every character outside its edits, and is not asked for again."""
    answer = asked(section, tmp_path)
    if isinstance(answer, Refusal) or not _PASS.search(section.text):
        return
    for file in answer.files:
        ast.parse(file.changed)
        kept, at = [], 0
        for edit in file.edit.edits:
            kept.append(file.original[at : edit.span.start])
            at = edit.span.end
        place = 0
        for part in [*kept, file.original[at:]]:
            place = file.changed.index(part, place) + len(part)
        Path(file.path).write_text(file.changed, encoding="utf-8", newline="")
    again = asked(Section(section.path, section.title, section.text), tmp_path)
    assert isinstance(again, Refusal)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.close()


@pytest.fixture(scope="module")
def eager() -> Iterator[Runner]:
    started = Runner(JAX_DISABLE_JIT="1")
    yield started
    started.close()


_NOT_RUN = (_IGNORE, _ENABLE)  # the second would hold for the examples after it, too
RUNNABLE = [s for s in SECTIONS if s.after and not any(asked.search(s.text) for asked in _NOT_RUN)]


def _types(result: object) -> object:
    """The result without its numbers."""
    return list(map(_types, result)) if isinstance(result, list) else type(result)


@pytest.mark.jax
@pytest.mark.parametrize("section", RUNNABLE, ids=[section.id for section in RUNNABLE])
def test_examples_run_as_before(section: Section, runner: Runner, eager: Runner) -> None:
    """The examples themselves: same results, the constant gone. What went by old values, or kept tracers, gives what it
    gives uncompiled."""
    mended = any(asked.search(section.text) for asked in (_KEEP, _AT_ONCE, _CHANGING))
    before = (eager if mended else runner).run({name.removesuffix(".py"): text for name, text in section.files.items()})
    if "No module named" in str(before.get("error")):
        pytest.skip("the example needs a library that is not here")
    assert "error" not in before, before["error"]
    assert before["captured"] or not _PASS.search(section.text)
    texts = {**section.files, **section.after}
    after = runner.run({name.removesuffix(".py"): text for name, text in texts.items()})
    assert "error" not in after, after["error"]
    if _DRAW.search(section.text):
        assert _types(before["result"]) == _types(after["result"])
        return
    assert same(before["result"], after["result"])
    assert _SAY.search(section.text) or not after["captured"]
