"""Which branches run: a test whose value follows from the source decides, any other leaves both."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import Const
from jaxscope.semantics.names.scopes import Block, Scope, facts_of

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator


def never_runs(ev: Evaluator, block: Block, scope: Scope, frame: Frame) -> bool:
    """Is the block switched off by the module's own constants? What callers pass may differ from call to call."""
    conditions = facts_of(scope.chunk).conditions
    for number in block:
        test, wanted = conditions.get(number, (None, True))
        if test is None or not all(_is_global(ev, node, scope) for node in ast.walk(test)):
            continue
        value = ev.evaluate(test, scope, frame)
        if isinstance(value, Const) and bool(value.value) is not wanted:
            return True
    return False


def _is_global(ev: Evaluator, node: ast.AST, scope: Scope) -> bool:
    if not isinstance(node, ast.Name):
        return not isinstance(node, (ast.Call, ast.Attribute, ast.Subscript))  # what may have been set meanwhile
    owner = ev.owner(node.id, scope)
    return owner is None or owner.kind == "module"


def returned(ev: Evaluator, scope: Scope, frame: Frame) -> Iterator[ast.expr]:
    """The results that a run with the frame's parameters can have."""
    facts = facts_of(scope.chunk)
    for value in scope.returns:
        sure = True
        for number in facts.blocks.get(id(value), ()):
            test, wanted = facts.conditions.get(number, (None, True))
            known = None if test is None else ev.evaluate(test, scope, frame)
            if not isinstance(known, Const):
                sure = False
            elif bool(known.value) is not wanted:
                break
        else:
            yield value
            if sure:
                return
