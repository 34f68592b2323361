"""What a compiled program reuses of the arguments that a change gives away, as the program itself tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jaxscope_worker.wire.messages import DeclaredSignature, Hoisted, VerifyRequest

from support import Worker, request, write

STEP = """\
from functools import partial
import jax
import jax.numpy as jnp


@jax.jit
def step(params, x):
    return {"w": params["w"] - x, "b": params["b"] * 2}


def run():
    params = {"w": jnp.ones((300, 300)), "b": jnp.ones(300)}
    for x in (1.0, 2.0):
        params = step(params, x)
    return params
"""
DECLARED = DeclaredSignature("step", "{w: f32[300,300], b: f32[300]}, f32[]", "declared", "program.py:6")
SIZE = 4 * (300 * 300 + 300)


def donated(before: str, options: str = "donate_argnums=(0,)", jit: str = "@jax.jit") -> str:
    after = before.replace(f"{jit}\n", f"@partial(jax.jit, {options})\n", 1)
    assert after != before
    return after


def verify(
    tmp_path: Path, before: str, after: str, names: tuple[str, ...] = ("params",), declared: Any = None, **fields: Any
) -> Any:
    project = write(tmp_path, {"program.py": before})
    how = {"declared": (declared,)} if declared else {"entries": ("run",)}
    both = request(project, **how), request(project, text=after, **how)
    function = fields.pop("function", "step")
    with Worker(project) as worker:
        return worker.request(
            VerifyRequest(*both, function, ", ".join(names), results="arrays", donates=names, **fields)
        )


@pytest.mark.parametrize("declared", [None, DECLARED])
def test_the_memory_is_reused(tmp_path: Path, declared: DeclaredSignature | None) -> None:
    reply = verify(tmp_path, STEP, donated(STEP), declared=declared)
    assert (reply.reuse.bytes, reply.reuse.why, reply.detail) == (SIZE, "", "")
    assert (reply.avals_equal, reply.values_equal, reply.programs_equal) == (True, True, True)
    assert reply.results_equal is (None if declared else True)


def test_by_name(tmp_path: Path) -> None:
    before = STEP.replace("step(params, x)\n", "step(x=x, params=params)\n")
    reply = verify(tmp_path, before, donated(before, 'donate_argnames=("params",)'))
    assert (reply.reuse.bytes, reply.programs_equal) == (SIZE, True)


def test_nothing_fits(tmp_path: Path) -> None:
    before = STEP.replace("params = step(", "last = step(").replace(
        'return {"w": params["w"] - x, "b": params["b"] * 2}', 'return params["w"].sum() + params["b"].sum() + x'
    )
    before = before.replace("    for x in (1.0, 2.0):\n        last", "    for x in (1.0,):\n        last")
    before = before.replace("    return params\n", "    return last\n")
    reply = verify(tmp_path, before, donated(before))
    assert (reply.reuse.bytes, reply.results_equal) == (0, True)


TWO = """\
from functools import partial
import jax
import jax.numpy as jnp


@partial(jax.jit, donate_argnums=(0,))
def step(old, params):
    return old + params


def run():
    old, params = jnp.ones((300, 300)), jnp.ones((300, 300))
    params = step(old, params)
    return params
"""


def test_what_another_argument_takes_is_not_counted(tmp_path: Path) -> None:
    after = donated(TWO, "donate_argnums=(0, 1)", "@partial(jax.jit, donate_argnums=(0,))")
    assert verify(tmp_path, TWO, after).reuse.bytes == 0
    both = TWO.replace("return old + params", "return old + params, old - params").replace(
        "params = step(old, params)", "old, params = step(old, params)"
    )
    after = donated(both, "donate_argnums=(0, 1)", "@partial(jax.jit, donate_argnums=(0,))")
    assert verify(tmp_path, both, after).reuse.bytes == 4 * 300 * 300


def test_unused_arguments_before_it(tmp_path: Path) -> None:
    before = STEP.replace("def step(params, x)", "def step(unused, params, x)").replace(
        "step(params, x)\n", "step(jnp.ones((300, 300)), params, x)\n"
    )
    assert verify(tmp_path, before, donated(before, "donate_argnums=(1,)")).reuse.bytes == SIZE


def test_another_argument_than_the_one_that_was_meant(tmp_path: Path) -> None:
    reply = verify(tmp_path, STEP, donated(STEP, "donate_argnums=(1,)"), declared=DECLARED)
    assert (reply.reuse, reply.programs_equal) == (None, False)
    assert "other arguments are donated" in reply.detail


def test_several_functions_at_once(tmp_path: Path) -> None:
    more = STEP + (
        "\n\n@jax.jit\ndef turn(state):\n    return -state\n\n\n"
        "def both():\n    state = jnp.ones(700)\n    return run(), turn(state)\n"
    )
    project = write(tmp_path, {"program.py": more})
    after = donated(donated(more), "donate_argnums=0")
    both = (
        request(project, entries=("both",)),
        request(project, entries=("both",), text=after),
    )
    others = (Hoisted("turn", "state", ("state",)),)
    with Worker(project) as worker:
        reply = worker.request(VerifyRequest(*both, "step", "params", others, results="arrays", donates=("params",)))
    assert reply.reuse.bytes == SIZE
    assert [other.reuse.bytes for other in reply.others] == [4 * 700]


def test_other_fixes_say_nothing_of_it(tmp_path: Path) -> None:
    assert verify(tmp_path, STEP, donated(STEP), names=()).reuse is None


def test_a_backend_that_ignores_donation(tmp_path: Path) -> None:
    """JAX itself keeps a list of those that do not; without the CPU in it, it lowers for the CPU as for the others."""
    ignoring = STEP.replace("import jax\n", "import jax\nfrom jax._src.interpreters import mlir\n", 1)
    ignoring = ignoring.replace("\n\n\n@jax.jit", "\nmlir._platforms_with_donation.clear()\n\n\n@jax.jit")
    reply = verify(tmp_path, ignoring, donated(ignoring))
    assert (reply.reuse.bytes, reply.reuse.why) == (None, "this backend ignores donation")
    assert reply.results_equal is True
