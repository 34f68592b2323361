"""Random programs: whatever the fix changes must still compute the same, without the constant, in all lines but those
that had to change.

Programs are compared as they are traced; where they differ there, and now and then anyway, they are run.
`JAXSCOPE_PROPERTY_EXAMPLES` sets how many are written, `JAXSCOPE_PROPERTY_SEED` where drawing begins.
"""

from __future__ import annotations

import ast
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from program_maker import Program, programs
from program_runner import Runner, same

from jaxscope.refactor.change import Refusal
from jaxscope.refactor.to_argument.hoist_argument import plan
from jaxscope.refactor.unused_imports import without_unused
from jaxscope.semantics.project import Project
from jaxscope.source.files import write_source
from jaxscope.text.edit import FileChange, SourceChange

EXAMPLES = int(os.environ.get("JAXSCOPE_PROPERTY_EXAMPLES", "300"))
SEED = int(os.environ.get("JAXSCOPE_PROPERTY_SEED", "0"))
RUN_EACH = 20
"""One program in so many is run as well."""
LONGEST = 300
"""Characters that a fix takes out of a file at most."""
BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_QUOTED = re.compile(r"`[^`]*`")


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    started = Runner(JAX_DISABLE_MOST_OPTIMIZATIONS="1")
    yield started
    started.close()


SEEN: list[tuple[Program, str]] = []
"""Programs that were tried, with the reason of a refusal."""


def asked(program: Program, folder: str) -> SourceChange | Refusal:
    """The fix of a program, whose files are written to `folder`."""
    project = Project(folder)
    for name, text in program.files.items():
        (Path(folder) / f"{name}.py").write_text(text, encoding="utf-8", newline="")
    answer = plan(project, f"{folder}/{program.path}.py", program.function, program.name, program.line)
    return answer if isinstance(answer, Refusal) else without_unused(project, answer)


def written(program: Program, change: SourceChange) -> dict[str, str]:
    """The program's texts once the change is on disk, where it must not touch any other line."""
    after = dict(program.files)
    for file in change.files:
        path = Path(file.path)
        before = path.read_bytes()
        write_source(file.path, file.changed)
        untouched(before, path.read_bytes(), file)
        after[path.stem] = path.read_bytes().decode()
    return after


def untouched(before: bytes, after: bytes, change: FileChange) -> None:
    """Lines without an edit are there as they were, byte by byte, and new ones end as the others do."""
    touched = {
        line
        for start, end in ((edit.span.start, edit.span.end) for edit in change.edit.edits)
        for line in range(change.original.count("\n", 0, start), change.original.count("\n", 0, end) + 1)
    }
    assert sum(edit.span.end - edit.span.start for edit in change.edit.edits) <= LONGEST, (
        "more is replaced than must be"
    )
    rest = iter(_LINE.findall(after))
    for number, line in enumerate(_LINE.findall(before)):
        assert number in touched or line in rest, f"line {number + 1} is not there: {line!r}"
    if b"\n" not in before.replace(b"\r\n", b""):
        assert b"\n" not in after.replace(b"\r\n", b""), "a line end of the other kind"
    assert before.startswith(BOM) == after.startswith(BOM)
    assert before.endswith(b"\n") == after.endswith(b"\n")


def _shown(files: dict[str, str]) -> str:
    return "\n".join(f"---- {name}.py\n{text}" for name, text in files.items())


@pytest.mark.jax
@seed(SEED)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_fixed_programs_compute_the_same(runner: Runner, program: Program) -> None:
    note(_shown(program.files))
    with tempfile.TemporaryDirectory() as folder:
        change = asked(program, folder)
        if isinstance(change, Refusal):
            assert change.reason.endswith(".") and change.line >= 1
            SEEN.append((program, change.reason))
            return
        after = written(program, change)
    note(_shown(after))
    for text in after.values():
        ast.parse(text.removeprefix("\ufeff"))
    seen = runner.compare(program.files, after)
    assert "error" not in seen, seen["error"]
    assert seen["captured"] == [True, False]
    if seen["difference"] or program.run or len(SEEN) % RUN_EACH == 0:
        old, new = runner.run(program.files), runner.run(after)
        assert "error" not in old, f"the program itself fails:\n{old['error']}"
        assert "error" not in new, new["error"]
        assert same(old["result"], new["result"]), seen["difference"]
    SEEN.append((program, ""))


@pytest.mark.jax
def test_most_programs_are_fixed() -> None:
    """The property above would hold for a fix that always refuses."""
    if not SEEN:
        pytest.skip("the programs were not run")
    reasons = Counter(_QUOTED.sub("`…`", reason) for _, reason in SEEN if reason)
    print(f"{len(SEEN)} programs from seed {SEED}, {len(SEEN) - reasons.total()} fixed; refused:")
    for reason, count in reasons.most_common():
        print(f"{count:6} {reason}")
    assert reasons.total() <= len(SEEN) * 0.5
