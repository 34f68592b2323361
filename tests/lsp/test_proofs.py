"""When a run has shown that a fix is right."""

from __future__ import annotations

import pytest

from jaxscope.lsp.fixing import Proof
from jaxscope.rules.finding import Finding, FixOffer
from jaxscope.text.span import Position, Range
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, VerifyReply

PLACE = Range(Position(1, 1), Position(1, 2))
TYPES = VerifyReply(True, True, True, None)
RESULTS = VerifyReply(True, True, True, True, results_equal=True)
OTHERS = VerifyReply(True, True, True, True, results_equal=False)


@pytest.mark.parametrize("kind", ["array-to-argument", "value-to-argument", "scalar-to-argument"])
def test_types_show_that_a_new_argument_is_right(kind: str) -> None:
    assert Proof(TYPES).proves(_finding(kind)) and Proof(RESULTS).proves(_finding(kind))


@pytest.mark.parametrize("kind", ["donate", "hoist-jit", "drop-static", "make-hashable", "strong-type"])
def test_of_other_fixes_results_alone_do(kind: str) -> None:
    assert not Proof(TYPES).proves(_finding(kind)) and not Proof(OTHERS).proves(_finding(kind))
    assert Proof(RESULTS).proves(_finding(kind))


@pytest.mark.parametrize("kind", ["array-to-argument", "donate"])
@pytest.mark.parametrize("reply", [None, Failure("no-jax", "No JAX"), VerifyReply(True, None, None, None)])
def test_what_was_not_seen_proves_nothing(kind: str, reply: VerifyReply | Failure | None) -> None:
    assert not Proof(reply).proves(_finding(kind))


def _finding(kind: str) -> Finding:
    offer = FixOffer("Mend it", kind, "safe")
    return Finding("rule", "warning", "/p/a.py", PLACE, "f", "W", "it is so", "traced", fixes=(offer,))
