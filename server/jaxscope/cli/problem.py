"""What ends a command with exit status 2."""

from __future__ import annotations


class Problem(Exception):
    """The command cannot do its work; the text says why, for a person."""
