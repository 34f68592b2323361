"""Frames: a scope together with what its parameters and enclosing names stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.values import Value
from jaxscope.semantics.names.scopes import Scope

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel


class Frame:
    """One run, or all runs, of a scope's code."""

    __slots__ = ("cache", "caller", "depth", "model", "parameters", "parent", "scope", "traced")

    def __init__(
        self,
        scope: Scope,
        model: FileModel,
        parent: Frame | None,
        parameters: dict[str, Value] | None = None,
        *,
        traced: bool = False,
        depth: int = 0,
    ) -> None:
        self.scope = scope
        self.model = model
        self.parent = parent
        """Frame of the scope around; None for a module."""
        self.parameters = parameters
        """Values of parameters; None when this stands for every run and they are worked out from the calls."""
        self.traced = traced
        """Does its code run while JAX traces it?"""
        self.depth = depth
        self.cache: dict[object, Value] = {}

    def holding(self, scope: Scope) -> Frame | None:
        """The frame of `scope`, which is this one's or one around it."""
        frame: Frame | None = self
        while frame is not None and frame.scope is not scope:
            frame = frame.parent
        return frame
