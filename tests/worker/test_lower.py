"""The rows of a lowered module lead to the lines they come from, and back, and say which constant they hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from jaxscope_worker import module_text
from jaxscope_worker.wire.messages import Failure, LowerReply, LowerRequest, Operation, Place, TracedFunction

from support import Worker, line_of, one, request, write

PROGRAM = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np

W = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
V = jnp.asarray(W[:30]) * 2
KEY = jnp.arange(3.0)


@jax.jit
def nested(x):
    return x @ V


@jax.jit
def block(x, unused):
    é = jnp.tanh(x @ W); y = jnp.sin(é) + 1.5

    def body(carry, row):
        carry = nested(carry) * row
        return carry, carry.sum()

    carry, sums = jax.lax.scan(body, y, jnp.ones((4, 30)))
    big = jnp.where(carry > 0, carry,
                    -1.0)
    return big + jnp.where(y > 2, y, -2.0), sums, KEY + 1, jax.random.uniform(jax.random.PRNGKey(0), (3,))


@functools.partial(jax.jit, donate_argnums=0)
def update(state):
    return state + V[0]


def run():
    block(np.ones(40, np.float32), 3)
    update(jnp.ones(30))
"""
SEES_COLUMNS = sys.version_info >= (3, 11)


@pytest.fixture(scope="module")
def lowered(tmp_path_factory: pytest.TempPathFactory) -> Any:
    project = write(tmp_path_factory.mktemp("lower"), {"program.py": PROGRAM})
    with Worker(project) as worker:
        reply = worker.request(request(project, entries=("run",)))
        assert reply.failure is None

        def lower(function: str, form: str = "captured") -> tuple[TracedFunction, LowerReply]:
            traced = one(reply, function)
            answer = worker.request(LowerRequest(traced.id, form))
            assert isinstance(answer, LowerReply), (answer, worker.stderr)
            return traced, answer

        yield lower


def rows_of(reply: LowerReply, op: str) -> list[Operation]:
    found = [row for row in reply.operations if row.op == op]
    assert found, [row.op for row in reply.operations]
    return found


def source(place: Place) -> str:
    """The text of the program at a place."""
    lines = PROGRAM.splitlines()[place.line - 1 : place.end_line]
    assert place.column is not None and place.end_column is not None
    lines[-1] = lines[-1][: place.end_column - 1]
    return "\n".join([lines[0][place.column - 1 :], *lines[1:]])


@pytest.mark.parametrize(
    ("op", "text"),
    [("tanh", "jnp.tanh(x @ W)"), ("sine", "jnp.sin(é)"), ("while", "jax.lax.scan(body, y, jnp.ones((4, 30)))")],
)
def test_a_row_leads_to_its_line(lowered: Any, op: str, text: str) -> None:
    _, reply = lowered("block")
    place = rows_of(reply, op)[0].frames[0]
    assert (place.line, place.function) == (line_of(PROGRAM, text), "block")
    if SEES_COLUMNS:
        assert source(place) == text
    else:
        assert (place.column, place.end_column) == (None, None)


def test_a_row_leads_over_several_lines(lowered: Any) -> None:
    _, reply = lowered("block")
    call = next(row for row in rows_of(reply, "call") if "@_where" in row.text)
    assert call.frames[0].line == line_of(PROGRAM, "big =")
    if SEES_COLUMNS:
        assert source(call.frames[0]).endswith("-1.0)")


def test_a_line_leads_to_its_rows(lowered: Any) -> None:
    _, reply = lowered("block")
    line = line_of(PROGRAM, "é =")
    rows = [row.op for row in reply.operations if any(place.line == line for place in row.frames)]
    assert {"dot_general", "tanh", "sine", "add"} <= set(rows)
    assert "while" not in rows
    assert "return" not in rows


def test_every_line_with_operations_leads_somewhere(lowered: Any) -> None:
    _, reply = lowered("block")
    lines = {place.line for row in reply.operations for place in row.frames[:1]}
    body = [line_of(PROGRAM, text) for text in ("é =", "nested(carry)", "carry.sum()", "scan(", "big =", "return big")]
    assert set(body) <= lines
    assert max(lines) <= line_of(PROGRAM, "return big")  # nobody who called it


def test_the_body_of_a_nested_jit_leads_to_itself_and_its_call(lowered: Any) -> None:
    _, reply = lowered("block")
    row = next(row for row in rows_of(reply, "dot_general") if "30x30" in row.text)
    chain = [(place.function, place.line) for place in row.frames]
    assert chain[0] == ("nested", line_of(PROGRAM, "x @ V"))
    assert chain[1] == ("block.<locals>.body", line_of(PROGRAM, "nested(carry)"))
    assert chain[2] == ("block", line_of(PROGRAM, "scan("))


def test_the_body_of_a_librarys_jit_leads_to_its_call(lowered: Any) -> None:
    _, reply = lowered("block")
    select = rows_of(reply, "select")
    lines = {place.line for row in select for place in row.frames}
    assert line_of(PROGRAM, "big =") in lines


def test_most_operations_have_a_line(lowered: Any) -> None:
    _, reply = lowered("block")
    rows = [row for row in reply.operations if row.op not in ("", "module", "func", "return", "constant")]
    assert sum(bool(row.frames) for row in rows) >= 0.9 * len(rows)


def test_captured_constants_are_marked(lowered: Any) -> None:
    traced, reply = lowered("block")
    assert {c.name for c in traced.constants} == {"W", "V"}
    marked = {traced.constants[row.captured].name: row for row in reply.operations if row.captured >= 0}
    assert set(marked) == {"W", "V"}
    assert "tensor<40x30xf32>" in marked["W"].text
    assert "tensor<30x30xf32>" in marked["V"].text
    assert {(row.op, row.literal) for row in marked.values()} == {("constant", "captured")}


def test_constants_are_classed(lowered: Any) -> None:
    _, reply = lowered("block")
    literals = {row.text.rpartition(" : ")[2]: row.literal for row in rows_of(reply, "constant")}
    assert literals["tensor<f32>"] == "scalar"
    assert literals["tensor<3xf32>"] == "small"
    assert literals["tensor<40x30xf32>"] == "captured"
    assert {row.literal for row in reply.operations if row.op != "constant"} == {""}


def test_hoisted_constants_are_leading_arguments(lowered: Any) -> None:
    traced, reply = lowered("block", "hoisted")
    marked = {traced.constants[row.captured].name: row.text for row in reply.operations if row.captured >= 0}
    assert marked["W"].strip().startswith("%arg") and "tensor<40x30xf32>" in marked["W"]
    assert marked["V"].strip().startswith("%arg") and "tensor<30x30xf32>" in marked["V"]
    assert not [row for row in reply.operations if row.literal == "captured"]
    tanh = rows_of(reply, "tanh")[0].frames[0]
    assert (tanh.line, tanh.function) == (line_of(PROGRAM, "é ="), "block")


def test_nothing_is_left_of_locations_and_large_literals(lowered: Any) -> None:
    for form in ("captured", "hoisted"):
        _, reply = lowered("block", form)
        assert not [row.text for row in reply.operations if "loc(" in row.text or row.text.startswith("#loc")]
        assert max(len(row.text) for row in reply.operations) < 2_000
        assert reply.operations[0].text.startswith("module @jit_block")
        assert reply.operations[-1].text == "}"
        assert reply.platform == "cpu"
        assert reply.seconds > 0


def test_the_modules_size_is_that_of_its_constants(lowered: Any) -> None:
    (_, captured), (_, hoisted) = lowered("block"), lowered("block", "hoisted")
    constants = (40 * 30 + 30 * 30) * 4
    assert constants * 0.98 < captured.module_bytes - hoisted.module_bytes < constants * 1.1


def test_donation_is_shown(lowered: Any) -> None:
    for form in ("captured", "hoisted"):
        _, reply = lowered("update", form)
        assert any("tf.aliasing_output" in row.text or "jax.buffer_donor" in row.text for row in reply.operations)


def test_an_unknown_function_is_a_failure(tmp_path: Path) -> None:
    with Worker(tmp_path) as worker:
        reply = worker.request(LowerRequest("f9"))
    assert isinstance(reply, Failure)
    assert (reply.kind, reply.message) == ("unsupported", "no traced function 'f9' is kept")


@pytest.mark.parametrize("form", ["captured", "hoisted"])
def test_a_large_constant_is_printed_elided(tmp_path: Path, form: str) -> None:
    program = """\
    import jax, jax.numpy as jnp, numpy as np
    W = np.random.default_rng(0).random((64, 1 << 16), np.float32)
    f = jax.jit(lambda x: x @ W)
    def run():
        f.trace(jnp.ones(64))
    """
    project = write(tmp_path, {"program.py": program})
    with Worker(project) as worker:
        traced = worker.request(request(project, entries=("run",)))
        reply = worker.request(LowerRequest(traced.functions[0].id, form))
    size = 64 << 18
    assert (reply.module_bytes > size) == (form == "captured")
    assert sum(len(row.text) for row in reply.operations) < 2_000


# ---------------------------------------------------------------- the text alone

MODULE = """\
#loc1 = loc("x")
#loc2 = loc("hoisted[0]")
module @jit_f attributes {mhlo.note = "a loc(b) \\" inside"} {
  func.func @main(%arg0: tensor<3xf32> {jax.const = true} loc("hoisted[0]"), %arg1: tensor<f32> loc("x")) -> f32 {
    %0 = stablehlo.tanh %arg0 : tensor<3xf32> loc(#loc7)
    %1:2 = "stablehlo.case"(%0) ({
      stablehlo.return %0 : tensor<3xf32> loc(#loc8)
    }, {
      stablehlo.return %0 : tensor<3xf32> loc(#loc)
    }) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) loc(#loc9)
    %2 = stablehlo.reduce(%0 init: %arg1) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
     reducer(%arg2: tensor<f32> loc("a"), %arg3: tensor<f32> loc("b"))  {
      stablehlo.return %arg2 : tensor<f32> loc(#loc)
    } loc(fused<"tag<1>">["/p/a.py":1:2, callsite("g"("/p/b.py":7:1 to 8:3) at "f"("/p/b.py":9:4 to :9))])
    return %0 : tensor<3xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("/p/b.py":3:4 to :9)
#loc4 = loc("/p/\\C3\\A9.py":12:0)
#loc5 = loc("f"(#loc3))
#loc6 = loc(callsite(#loc5 at #loc4))
#loc7 = loc("jit(f)/tanh[a=\\"b\\"]"(#loc6))
#loc8 = loc("jit(f)/cond"(#loc5))
#loc9 = loc("jit:"(#loc8))
"""


def test_locations_of_every_form() -> None:
    rows = {row.op: row for row in module_text.rows(MODULE) if row.op not in ("return",)}
    tanh = rows["tanh"].location
    assert tanh.name == 'jit(f)/tanh[a="b"]'
    assert [(f.file, f.line, f.column, f.end_line, f.end_column, f.function) for f in tanh.frames] == [
        ("/p/b.py", 3, 4, 3, 9, "f"), ("/p/é.py", 12, 0, 0, 0, ""),
    ]  # fmt: skip
    assert [f.line for f in rows["case"].location.frames] == [3]
    assert [(f.file, f.line, f.end_line, f.function) for f in rows["reduce"].location.frames] == [
        ("/p/a.py", 1, 0, ""), ("/p/b.py", 7, 8, "g"), ("/p/b.py", 9, 9, "f"),
    ]  # fmt: skip


def test_text_without_locations() -> None:
    rows = module_text.rows(MODULE)
    assert rows[0].text == 'module @jit_f attributes {mhlo.note = "a loc(b) \\" inside"} {'
    assert rows[1].text.endswith("(%arg0: tensor<3xf32> {jax.const = true}, %arg1: tensor<f32>) -> f32 {")
    assert [(text, at.name) for text, at in rows[1].arguments] == [
        ("%arg0: tensor<3xf32> {jax.const = true}", "hoisted[0]"), ("%arg1: tensor<f32>", "x"),
    ]  # fmt: skip
    assert len(rows) == len(MODULE.splitlines()) - 10
    assert {row.function for row in rows[1:-1]} == {"main"}
