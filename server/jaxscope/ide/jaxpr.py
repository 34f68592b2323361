"""Reading a printed jaxpr just enough to show its beginning."""

from __future__ import annotations


def first_equations(text: str, count: int) -> tuple[str, int]:
    """The text up to and with the first `count` equations, and how many more there are.

    An equation begins on a line with the least indentation inside the outermost `let`; lines indented deeper (the
    bodies of inner jaxprs) belong to the equation before them.
    """
    lines = text.splitlines()
    let = next((i for i, line in enumerate(lines) if line.rstrip().endswith("let") or " let " in line), None)
    end = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].lstrip().startswith("in ")), len(lines))
    if let is None or let + 1 >= end:
        return text, 0
    indent = min((_indent(line) for line in lines[let + 1 : end] if line.strip()), default=0)
    starts = [i for i in range(let + 1, end) if lines[i].strip() and _begins_equation(lines[i], indent)]
    if len(starts) <= count:
        return text, 0
    return "\n".join(lines[: starts[count]]), len(starts) - count


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _begins_equation(line: str, indent: int) -> bool:
    # A closing bracket stands at the indentation of the equation that it ends.
    return _indent(line) == indent and line[indent] not in ")]}"
