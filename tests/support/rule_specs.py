"""Rule specs: Markdown files that say, example by example, what a rule finds.

A section is a heading with one `python` block, or several whose first line is `# file: NAME.py`. Every finding must be
expected by a caret comment (see `marked.py`) and every expectation met. A block that begins with `# traced: ENTRY` is
also judged after a trace in which ENTRY ran; the trace is kept beside the spec, under `recorded/`, and where JAX is at
hand the same expectations are held against a live one. `# settings: key = value` sets a setting. A file is about the
rule that its name begins with, or about captured arrays: what other rules say of its examples is not looked at.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from marked import Expected, Marked, parse

from jaxscope.config import Config, with_values
from jaxscope.rules.base import Context, Judgement, all_rules, judge
from jaxscope.semantics.project import Project
from jaxscope.tracing import planning
from jaxscope.worker.jaxscope_worker.wire.codec import from_json, to_json
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, TraceReply
from jaxscope.workers.pool import Pool

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^# (file|traced|settings): *(.+)$", re.MULTILINE)


@dataclass
class Example:
    """One section of a spec."""

    spec: Path
    title: str
    files: dict[str, Marked] = field(default_factory=dict)
    entry: str | None = None
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def recording(self) -> Path:
        """Where its trace is kept."""
        slug = re.sub(r"\W+", "-", self.title.lower()).strip("-")
        return self.spec.parent / "recorded" / self.spec.stem / f"{slug}.json"

    @property
    def config(self) -> Config:
        """Its settings."""
        config = with_values(Config(), self.settings)
        assert isinstance(config, Config)
        return replace(config, rules={name: "ignore" for name in all_rules() if name != self.rule})

    @property
    def rule(self) -> str:
        """The rule that it is about."""
        stem = self.spec.stem.replace("_", "-")
        return max((name for name in all_rules() if stem.startswith(name)), key=len, default="captured-array")

    def write(self, folder: Path) -> None:
        """Puts its files into `folder`."""
        for name, marked in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(marked.text)


def examples(spec: Path) -> list[Example]:
    """The sections of one file that have code."""
    text, found = spec.read_text(), []
    headings = [(m.start(), m[1]) for m in _HEADING.finditer(_without_code(text))]
    for block in _BLOCK.finditer(text):
        title = [name for at, name in headings if at < block.start()][-1]
        directives = dict(_DIRECTIVE.findall(block[1]))
        if not found or found[-1].title != title:
            found.append(Example(spec, title))
        example = found[-1]
        example.files[directives.get("file", "case.py")] = parse(block[1])
        example.entry = directives.get("traced", example.entry)
        if "settings" in directives:
            key, _, value = directives["settings"].partition("=")
            example.settings[key.strip()] = value.strip()
    return found


def _without_code(text: str) -> str:
    """`text` with code blanked out, so that a comment is not taken for a heading."""
    return _BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)


def judged(example: Example, folder: Path, reply: TraceReply | None = None) -> Judgement:
    """All that is said of the example's first file."""
    project = Project(str(folder))
    model = project.model(str(folder / next(iter(example.files))))
    assert model is not None
    return judge(model, Context(example.config, project), reply)


def trace(example: Example, folder: Path, interpreter: str) -> TraceReply:
    """A live trace of the example's first file."""
    project = Project(str(folder))
    model = project.model(str(folder / next(iter(example.files))))
    assert model is not None and example.entry is not None
    request = planning.plan(model, project, example.config, () if example.entry == "import" else (example.entry,))
    pool = Pool(interpreter, example.config, root=str(folder), spare=False)
    try:
        session = pool.open(request)
        assert not isinstance(session, Failure), session
        reply = session.evidence.reply
        session.close()
    finally:
        pool.close()
    return reply


def record(example: Example, folder: Path, reply: TraceReply) -> None:
    """Keeps a trace beside the spec; places are written as `$ROOT/NAME.py`, durations as 0."""
    example.recording.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(to_json(reply), indent=1).replace(json.dumps(str(folder))[1:-1], "$ROOT")
    data = re.sub(r'("(?:import|trace)_seconds": )[\d.e-]+', r"\g<1>0.0", data)
    example.recording.write_text(data + "\n")


def recorded(example: Example, folder: Path) -> TraceReply:
    """The kept trace, as if it had been made in `folder`."""
    data = example.recording.read_text().replace("$ROOT", json.dumps(str(folder))[1:-1])
    reply = from_json(TraceReply, json.loads(data))
    assert isinstance(reply, TraceReply)
    return reply


def differences(example: Example, folder: Path, judgement: Judgement, phase: str) -> list[str]:
    """What was said and not expected, and the reverse; empty when all is well."""
    said = [(f.severity, f.path, f.range, f.message, f.name) for f in judgement.findings]
    said += [("refuted", r.finding.path, r.finding.range, r.reason, r.finding.name) for r in judgement.refuted]
    problems = []
    for name, marked in example.files.items():
        here = [item for item in said if Path(item[1]) == folder / name]
        for expected in marked.expected:
            if expected.phase not in ("", phase) or (expected.level == "refuted" and phase == "static"):
                continue
            match = next((item for item in here if _meets(item, expected)), None)
            if match is None:
                where = f"{name}:{expected.line}:{expected.column}"
                problems.append(f"{where}: not said: {expected.level}: {expected.text}")
            else:
                here.remove(match)
        problems += [
            f"{name}:{place.start.line}:{place.start.column}-{place.end.column}: not expected: {level}: {message}"
            for level, _, place, message, _ in here
        ]
    return problems


def _meets(item: tuple, expected: Expected) -> bool:  # type: ignore[type-arg]
    level, _, place, message, _ = item
    where = (place.start.line, place.start.column, place.end.column)
    return (
        level == expected.level
        and where == (expected.line, expected.column, expected.end_column)
        and all(part.strip() in message for part in expected.text.split("…"))
    )
