"""A change is verified by running the program before and after it."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxscope_worker.wire.messages import DeclaredSignature, Failure, Hoisted, VerifyReply, VerifyRequest
from verified import verify

from support import Worker, request, write

BEFORE = """\
import jax
import jax.numpy as jnp
import numpy as np

W = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)


@jax.jit
def f(x):
    return jnp.tanh(x @ W)


def run():
    return {"y": f(jnp.ones((2, 40))), "n": 3}
"""
AFTER = BEFORE.replace("def f(x)", "def f(x, W)").replace("jnp.ones((2, 40)))", "jnp.ones((2, 40)), W)")


def test_a_right_change(tmp_path: Path) -> None:
    assert verify(tmp_path, BEFORE, AFTER) == VerifyReply(True, True, True, True, "", True, True)


def test_the_constant_stays(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE, BEFORE + "\n# a comment\n")
    assert (reply.imports, reply.constant_gone, reply.avals_equal, reply.values_equal) == (True, False, True, True)
    assert reply.detail == "W would still be a constant of f"


def test_the_constant_stays_under_another_name(tmp_path: Path) -> None:
    renamed = BEFORE.replace("W", "V")
    reply = verify(tmp_path, BEFORE, renamed)
    assert reply.constant_gone is False
    assert reply.detail == "f would still hold a constant of 4800 bytes, as large as W"


def test_one_of_two_alike_goes(tmp_path: Path) -> None:
    two = BEFORE.replace("x @ W)", "x @ W) + x @ V").replace("\n\n\n@jax", "\nV = W + 1\n\n\n@jax", 1)
    after = two.replace("def f(x)", "def f(x, W)").replace("jnp.ones((2, 40)))", "jnp.ones((2, 40)), W)")
    assert verify(tmp_path, two, after) == VerifyReply(True, True, True, True, "", True, True)


def test_another_output_type(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE, AFTER.replace("jnp.tanh(x @ W)", "jnp.tanh(x @ W)[0]"))
    assert (reply.constant_gone, reply.avals_equal, reply.values_equal) == (True, False, False)
    assert reply.detail == "the output of f would change from f32[2,30] to f32[30]"


def test_other_values(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE, AFTER.replace("jnp.tanh(x @ W)", "jnp.tanh(x @ W) * 1.01"))
    assert (reply.constant_gone, reply.avals_equal, reply.values_equal) == (True, True, False)
    assert reply.detail.startswith("what run() returns is off by up to 0.0")
    assert "at ['y']" in reply.detail


def test_other_integer(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE, AFTER.replace('"n": 3', '"n": 4'))
    assert reply.values_equal is False
    assert "at ['n']" in reply.detail


def test_rounding_is_no_difference(tmp_path: Path) -> None:
    reordered = AFTER.replace("jnp.tanh(x @ W)", "jnp.tanh(x[:, ::-1] @ W[::-1] * (1 + 1e-7))")
    assert verify(tmp_path, BEFORE, reordered).values_equal is True


def test_results_of_which_a_part_cannot_be_compared_are_not_called_equal(tmp_path: Path) -> None:
    before, after = (text.replace('"n": 3', '"n": object()') for text in (BEFORE, AFTER))
    assert verify(tmp_path, before, after) == VerifyReply(True, True, True, None, "", True)
    other = verify(tmp_path, before, after.replace("jnp.tanh(x @ W)", "jnp.tanh(x @ W) * 1.01"))
    assert other.values_equal is False


def test_the_call_breaks(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE, AFTER.replace("jnp.ones((2, 40)), W)", "jnp.ones((2, 40)))"))
    assert (reply.imports, reply.values_equal) == (True, False)
    assert reply.detail == "f could no longer be traced: TypeError: f() missing 1 required positional argument: 'W'"


def test_the_entry_breaks(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE, AFTER.replace("def run():", "def run():\n    assert W is None, 'no weights'"))
    assert (reply.imports, reply.values_equal) == (True, False)
    assert reply.detail == "run() would fail: AssertionError: no weights"


def test_the_import_breaks(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE, AFTER + "\nundefined\n")
    assert reply == VerifyReply(
        False, None, None, None, "importing it would fail: NameError: name 'undefined' is not defined"
    )


def test_before_fails(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE + "\nundefined\n", AFTER)
    assert isinstance(reply, Failure)
    assert (reply.kind, reply.message) == ("user-error", "NameError: name 'undefined' is not defined")
    assert reply.place is not None and reply.place.line == 16


def test_only_declared_shapes(tmp_path: Path) -> None:
    fields = {
        "first": {"declared": (DeclaredSignature("f", "f32[2,40]", "declared"),)},
        "second": {"declared": (DeclaredSignature("f", "f32[2,40], f32[40,30]", "declared"),)},
    }
    assert verify(tmp_path, BEFORE, AFTER, entries=(), **fields) == VerifyReply(True, True, True, True, "", True)


def test_declared_shapes_that_no_longer_trace(tmp_path: Path) -> None:
    fields = {
        "first": {"declared": (DeclaredSignature("f", "f32[2,40]", "declared"),)},
        "second": {"declared": (DeclaredSignature("f", "f32[2,41], f32[40,30]", "declared"),)},
    }
    reply = verify(tmp_path, BEFORE, AFTER, entries=(), **fields)
    assert (reply.imports, reply.constant_gone, reply.avals_equal, reply.values_equal) == (True, None, False, None)
    assert reply.detail.startswith("f could no longer be traced: TypeError:")


def test_nothing_is_known_without_shapes(tmp_path: Path) -> None:
    assert verify(tmp_path, BEFORE, AFTER, entries=()) == VerifyReply(True, None, None, None, "")


def test_results_that_differ_in_each_run(tmp_path: Path) -> None:
    unseeded = "default_rng()", "default_rng(0)"
    reply = verify(tmp_path, BEFORE.replace(*unseeded[::-1]), AFTER.replace(*unseeded[::-1]))
    assert (reply.constant_gone, reply.avals_equal, reply.values_equal) == (True, True, None)
    assert "differ from run to run" in reply.detail


def test_globally_seeded_data_is_the_same_in_both_runs(tmp_path: Path) -> None:
    old = "np.random.default_rng(0).normal(size=(40, 30))"
    new = "np.random.normal(size=(40, 30))"
    reply = verify(tmp_path, BEFORE.replace(old, new), AFTER.replace(old, new))
    assert reply.values_equal is True


@pytest.mark.parametrize("module", ["tables", "pkg.tables"])
def test_other_files_are_imported_anew(tmp_path: Path, module: str) -> None:
    tables = "import numpy as np\nSIZE = 30\nMASK = np.arange(40. * SIZE).astype(np.float32).reshape(40, SIZE)\n"
    path = module.replace(".", "/") + ".py"
    made = "W = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)"
    before = BEFORE.replace(made, f"from {module} import MASK as W")
    project = write(tmp_path, {"program.py": before, path: tables})
    first = request(project, entries=("run",))
    overlay = {str(project / path): tables.replace("SIZE = 30", "SIZE = 31")}
    second = request(project, entries=("run",), overlay=overlay)
    with Worker(project) as worker:
        reply = worker.request(VerifyRequest(first, second, "f", "W"))
    assert reply.avals_equal is False
    assert reply.detail.startswith("W would still")


DECLARED = {
    "first": {"declared": (DeclaredSignature("f", "f32[2,40]", "declared"),)},
    "second": {"declared": (DeclaredSignature("f", "f32[2,40], f32[40,30]", "declared"),)},
}


def test_another_program_gives_other_values_for_made_up_arguments(tmp_path: Path) -> None:
    reply = verify(tmp_path, BEFORE, AFTER.replace("x @ W)", "x @ W * 1.01)"), entries=(), **DECLARED)
    assert (reply.constant_gone, reply.avals_equal, reply.programs_equal, reply.values_equal) == (
        True,
        True,
        False,
        False,
    )
    assert reply.detail.startswith("what f returns is off by up to")


def test_another_program_gives_the_same_values_where_numpy_computed_before(tmp_path: Path) -> None:
    before, after = (text.replace("x @ W)", "x @ W.T)").replace("(2, 40)", "(2, 30)") for text in (BEFORE, AFTER))
    fields = {
        side: {"declared": (DeclaredSignature("f", text, "declared"),)}
        for side, text in {"first": "f32[2,30]", "second": "f32[2,30], f32[40,30]"}.items()
    }
    reply = verify(tmp_path, before, after, entries=(), **fields)
    assert (reply.avals_equal, reply.programs_equal, reply.values_equal, reply.results_equal) == (
        True,
        False,
        True,
        None,
    )


def test_a_caller_that_passes_another_array(tmp_path: Path) -> None:
    outer = "\n\n@jax.jit\ndef outer(x):\n    return f(x) + 1\n"
    before = BEFORE.replace("\n\ndef run", outer + "\n\ndef run").replace('"n": 3', '"n": outer(jnp.ones((2, 40)))')
    after = AFTER.replace("\n\ndef run", outer + "\n\ndef run").replace('"n": 3', '"n": outer(jnp.ones((2, 40)))')
    right = verify(tmp_path, before, after.replace("f(x) + 1", "f(x, W) + 1"))
    assert (right.programs_equal, right.values_equal) == (True, True)
    wrong = verify(tmp_path, before, after.replace("f(x) + 1", "f(x, -W) + 1"))
    # Whether the array is made anew in each run, or is another one, only results can tell.
    assert (wrong.programs_equal, wrong.values_equal) == (None, False)
    unseen = verify(tmp_path, before, after.replace("f(x) + 1", "f(x, W) + 2"))
    assert (unseen.programs_equal, unseen.values_equal) == (False, False)


def test_a_method_behind_one_of_the_same_name(tmp_path: Path) -> None:
    head = (
        BEFORE[: BEFORE.index("@jax.jit")]
        + "class Model:\n    def __init__(self):\n        self.w = jnp.asarray(W)\n\n"
    )
    tail = "\n\ndef run():\n    return Model().apply(jnp.ones((2, 40)))\n"
    jitted = "    @partial(jax.jit, static_argnums=0)\n"
    before = head + jitted + "    def apply(self, x):\n        return x @ self.w\n" + tail
    wrapper = "    def apply(self, x):\n        return self._apply(x, self.w)\n\n"
    after = head + wrapper + jitted + "    def _apply(self, x, w):\n        return x @ w\n" + tail
    before, after = (
        text.replace("import jax\n", "from functools import partial\nimport jax\n", 1) for text in (before, after)
    )
    reply = verify(tmp_path, before, after, function="Model.apply", constant="self.w")
    assert reply == VerifyReply(True, True, True, True, "", True, True)


def test_several_arrays_at_once(tmp_path: Path) -> None:
    made = BEFORE.replace("\n\n\n@jax", "\nV = W + 1\n\n\n@jax", 1).replace("x @ W)", "x @ W) + x @ V")
    after = made.replace("def f(x)", "def f(x, W, V)").replace("jnp.ones((2, 40)))", "jnp.ones((2, 40)), W, V)")
    reply = verify(tmp_path, made, after, others=(Hoisted("f", "V"), Hoisted("f", "Z")))
    assert [each.constant_gone for each in (reply, *reply.others)] == [True, True, None]
    one = verify(tmp_path, made, after.replace("x @ V", "x @ (V - 0 * W + U)").replace("V = W + 1", "V = U = W + 1"))
    assert one.programs_equal is False


def test_another_array_is_donated(tmp_path: Path) -> None:
    before = BEFORE.replace("@jax.jit\ndef f(x)", "@partial(jax.jit, donate_argnums=1)\ndef f(n, x)")
    before = before.replace("f(jnp", "f(1, jnp").replace(
        "import jax\n", "from functools import partial\nimport jax\n", 1
    )
    after = before.replace("def f(n, x)", "def f(n, W, x)").replace("f(1, jnp", "f(1, W, jnp")
    assert verify(tmp_path, before, after.replace("argnums=1", "argnums=2")).programs_equal is True
    assert verify(tmp_path, before, after).programs_equal is False


STALE = """\
import jax

scale = 2.0


@jax.jit
def f(x):
    return scale * x


def run():
    global scale
    scale, first = 2.0, f(3.0)
    scale = 5.0
    return {"first": first, "second": f(3.0)}
"""
FRESH = (
    STALE.replace("def f(x)", "def f(x, scale)")
    .replace("scale, first = 2.0, f(3.0)", "scale = 2.0\n    first = f(3.0)")
    .replace("f(3.0)", "f(3.0, scale)")
)


@pytest.mark.parametrize("results", ["same", "eager"])
def test_what_was_out_of_date_may_change(tmp_path: Path, results: str) -> None:
    reply = verify(tmp_path, STALE, FRESH, constant="scale", results=results)
    assert reply.values_equal is (results == "eager")


def test_what_further_traces_leave_behind_is_no_difference(tmp_path: Path) -> None:
    before = """\
import jax
import jax.numpy as jnp
import numpy as np

scale = 1.0
lengths, traces = [], np.zeros(1)


@jax.jit
def f(x):
    lengths.append(x.shape[0])
    traces[0] += 1
    return x * scale


def run():
    global scale
    y = f(jnp.ones(3))
    scale = 2.0
    return y, lengths, traces
"""
    after = before.replace("def f(x)", "def f(x, scale)").replace("f(jnp.ones(3))", "f(jnp.ones(3), scale)")
    reply = verify(tmp_path, before, after, constant="scale")
    assert (reply.values_equal, reply.detail) == (True, "")


@pytest.mark.parametrize("drawn", ["jax.random.normal(key, (3,)).sum()", "uniform(key, (3,)).sum() + draw(key)"])
def test_random_numbers_are_the_same_where_nothing_is_compiled(tmp_path: Path, drawn: str) -> None:
    head = """\
from jax.random import uniform

key = jax.random.key(0)
draw = jax.jit(lambda key: jax.random.normal(key))
"""
    before, after = (
        text.replace("\n\n\n", f"\n{head}\n\n", 1).replace("f(3.0", f"f({drawn}") for text in (STALE, FRESH)
    )
    assert before.count(drawn) == after.count(drawn) == 2
    reply = verify(tmp_path, before, after, constant="scale", results="eager")
    assert reply.detail == ""
    assert reply.values_equal is True


def test_only_into_what_is_right(tmp_path: Path) -> None:
    wrong = FRESH.replace("f(3.0, scale)}", "f(4.0, scale)}")
    reply = verify(tmp_path, STALE, wrong, constant="scale", results="eager")
    assert reply.values_equal is False and "['second']" in reply.detail


KEPT = """\
import jax
import jax.numpy as jnp


@jax.jit
def f(x):
    return x + 1


def run():
    x = old = jnp.ones(3)
    x = f(x)
    return {"x": x, "deleted": old.is_deleted()}
"""
DONATED = KEPT.replace("@jax.jit", "from functools import partial\n\n\n@partial(jax.jit, donate_argnums=0)")


@pytest.mark.parametrize("results", ["same", "arrays"])
def test_a_buffer_given_away(tmp_path: Path, results: str) -> None:
    reply = verify(tmp_path, KEPT, DONATED, constant="x", results=results)
    assert reply.values_equal is (results == "arrays")
    lost = DONATED.replace("x + 1", "x + 2")
    assert verify(tmp_path, KEPT, lost, constant="x", results=results).values_equal is False


FROZEN = """
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def f(x):
    return x + np.random.normal(size=3)

def run():
    return {"y": f(jnp.ones(3)), "mean": float(f(jnp.ones(3)).mean()), "name": "noise"}
"""
KEYED = (
    FROZEN.replace("def f(x)", "def f(x, key)")
    .replace("np.random.normal(size=3)", "jax.random.normal(key, (3,))")
    .replace("f(jnp.ones(3))", "f(jnp.ones(3), jax.random.key(0))")
)


@pytest.mark.parametrize("results", ["same", "types", "any"])
def test_other_numbers(tmp_path: Path, results: str) -> None:
    reply = verify(tmp_path, FROZEN, KEYED, constant="np.random.normal", results=results)
    assert (reply.avals_equal, reply.results_equal) == (True, results != "same")
    wide = KEYED.replace("(3,))", "(3,)).astype(jnp.float16).astype(int)").replace("return x + ", "return ")
    reply = verify(tmp_path, FROZEN, wide, constant="np.random.normal", results=results)
    assert (reply.avals_equal, reply.results_equal) == (False, results == "any")
    fails = KEYED.replace("(3,))", "(3,)) + [][0]")
    assert verify(tmp_path, FROZEN, fails, constant="np.random.normal", results=results).results_equal is False
    other = KEYED.replace('"name"', '"other"')
    assert verify(tmp_path, FROZEN, other, constant="np.random.normal", results=results).results_equal is False
