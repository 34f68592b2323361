"""Markdown specifications of source changes: what a text was, what is asked, and what becomes of it.

A section holds one or more ```` ```python ```` blocks (a file name may follow; the default is `case.py`), a sentence
that asks for a change, and either ```` ```python after ```` blocks or one ```` ```refused ```` block
(`case.py:3: reason`). A ```` ```doubts ```` block lists what only a run can show. In the texts `⇥` stands for a tab,
`␌` for a form feed, `⏎` at the end of a line for CRLF.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{2,} (.*)$", re.MULTILINE)
_MARKS = (("⏎\n", "\r\n"), ("⇥", "\t"), ("␌", "\f"))


@dataclass
class Section:
    """One example of a specification."""

    path: Path
    title: str
    text: str
    files: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    refused: str | None = None
    doubts: str = ""

    @property
    def id(self) -> str:
        """Name in test reports."""
        return f"{self.path.stem}: {self.title}"


def sections(folder: Path) -> Iterator[Section]:
    """All sections of the specifications in `folder`."""
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        headings = list(_HEADING.finditer(text))
        for number, heading in enumerate(headings):
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            section = _section(path, heading[1], text[heading.end() : end])
            if section.files:
                yield section


def _section(path: Path, title: str, text: str) -> Section:
    found = Section(path, title, text)
    for block in _FENCE.finditer(text):
        words = block[2].split()
        name = next((word for word in words if word.endswith(".py")), "case.py")
        if block[1] == "refused":
            found.refused = block[3].strip()
        elif block[1] == "doubts":
            found.doubts = block[3].strip()
        elif block[1] == "python":
            (found.after if "after" in words else found.files)[name] = decoded(block[3])
    return found


def decoded(text: str) -> str:
    """The text that a block stands for."""
    for mark, char in _MARKS:
        text = text.replace(mark, char)
    return text


def encoded(text: str) -> str:
    """The block that stands for a text."""
    for mark, char in _MARKS:
        text = text.replace(char, mark)
    return text


def bless(section: Section, after: dict[str, str], refused: str | None, doubts: Sequence[str] = ()) -> None:
    """Writes what is seen as the section's expectation."""
    text = section.path.read_text(encoding="utf-8")
    at = text.index(section.text)
    kept = _FENCE.sub(lambda block: "" if _expectation(block) else block[0], section.text).rstrip()
    blocks = [f"```refused\n{refused}\n```"] if refused else []
    for name, new in after.items():
        info = "python after" if name == "case.py" else f"python {name} after"
        blocks.append(f"```{info}\n{encoded(new)}```")
    blocks += ["```doubts\n" + "\n".join(doubts) + "\n```"] if doubts else []
    tail = "\n\n" if at + len(section.text) < len(text) else "\n"
    new_text = kept + "\n\n" + "\n\n".join(blocks) + tail
    section.path.write_text(text[:at] + new_text + text[at + len(section.text) :], encoding="utf-8")


def _expectation(block: re.Match[str]) -> bool:
    return block[1] in ("refused", "doubts") or (block[1] == "python" and "after" in block[2].split())
