"""Which functions are reported, under what names and signatures."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxscope_worker.wire.messages import FetchRequest, TraceReply

from support import Worker, constant, line_of, one, request, trace, write

PROGRAM = """
    import functools
    import threading

    import jax
    import jax.numpy as jnp
    import numpy as np

    TABLE = jnp.asarray(np.random.default_rng(0).random((40, 30), dtype=np.float32))


    def row(i):  # def row
        return TABLE[i].sum()


    rows = jax.jit(jax.vmap(row))


    def loss(w, x):
        return ((x @ w) ** 2).sum()


    step = jax.jit(jax.value_and_grad(loss))
    curved = jax.jit(jax.hessian(lambda w: (w ** 2).sum()))


    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper


    @logged
    @jax.jit
    def under_decorator(x):
        return x + 1


    @jax.jit
    @logged
    def over_decorator(x):
        return x + 2


    def renamed(function):
        def inner(x):
            return function(x) * 2

        return inner


    plain_decorator = jax.jit(renamed(lambda x: x + TABLE[0, 0]))  # the lambda


    @jax.jit
    def inner(x):
        return x @ TABLE


    @jax.jit
    def outer(x):
        return inner(x).sum()


    @functools.partial(jax.jit, static_argnames=("mode",), donate_argnums=0)
    def update(state, batch, *, mode="train"):
        return jax.tree_util.tree_map(lambda leaf: leaf + batch.sum(), state)


    @functools.partial(jax.jit, static_argnums=1)
    def sized(x, size):
        return jnp.zeros(size) + x


    @jax.jit
    def keyed(key, flag, *rest, **named):
        return jax.random.normal(key, (2,)) + flag + rest[0] + named["bias"]


    @jax.custom_vjp
    def clipped(x):
        return x


    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
    jitted_custom = jax.jit(clipped)


    def rebuilt(n):
        table = jnp.full((30,), n)
        return jax.jit(lambda y: y + table)


    def nested_in(n):
        @jax.jit
        def local(x):
            return x * n

        return local


    @jax.jit
    def shape_only(x):
        return x @ TABLE


    @jax.jit
    def in_thread(x):
        return x - 1


    @jax.jit
    def never_called(x):
        return x


    @jax.jit
    def fails(x):
        return x @ TABLE.T  # wrong


    def eager(x):
        return x @ TABLE


    def main():
        x = jnp.ones((3, 40))
        rows(jnp.arange(4))
        step(jnp.ones((40, 2)), x)
        curved(jnp.ones(2))
        under_decorator(x)
        over_decorator(x)
        plain_decorator(1.0)
        outer(x)  # calls outer
        update({"w": jnp.ones((2, 2)), "b": [jnp.ones(2), None]}, np.ones((3, 2)), mode="test")
        sized(1.0, 4)
        sized(2.0, 4)
        sized(2.0, 5)
        keyed(jax.random.key(0), True, 1.5, bias=2)
        jitted_custom(1.0)
        nested_in(2)(1.0)
        nested_in(3)(1.0)
        for n in range(20):
            rebuilt(n)(1.0)
        jax.eval_shape(shape_only, x)
        jax.make_jaxpr(lambda x: shape_only(x))(x)
        worker = threading.Thread(target=in_thread, args=(1.0,))
        worker.start()
        worker.join()
        eager(x)
        jax.vmap(eager)(x)
        try:
            fails(x)
        except TypeError:
            pass
"""


@pytest.fixture(scope="module")
def reply(tmp_path_factory: pytest.TempPathFactory) -> TraceReply:
    reply = trace(tmp_path_factory.mktemp("functions"), {"program.py": PROGRAM}, entries=("main",))
    assert reply.failure is None, reply.failure
    return reply


def signature(reply: TraceReply, function: str) -> list[tuple[str, str]]:
    return [(p.name, p.type) for p in one(reply, function).parameters]


def test_exactly_the_jitted_functions_of_the_user_are_reported(reply: TraceReply) -> None:
    assert {f.function for f in reply.functions} == {
        "row", "loss", "<lambda>", "under_decorator", "over_decorator", "inner", "outer", "update", "sized", "keyed",
        "clipped", "rebuilt.<locals>.<lambda>", "nested_in.<locals>.local", "in_thread", "renamed.<locals>.inner",
    }  # fmt: skip


def test_vmapped_function_is_named_and_placed(reply: TraceReply) -> None:
    found = one(reply, "row")
    assert found.line == line_of(PROGRAM, "# def row")
    assert signature(reply, "row") == [("i", "i32[4]")]
    assert found.out == ("f32[4]",)
    assert constant(reply, "row").name == "TABLE"


def test_value_and_grad_reports_both_outputs(reply: TraceReply) -> None:
    assert one(reply, "loss").out == ("f32[]", "f32[40,2]")


def test_trees_are_written_in_short_form(reply: TraceReply) -> None:
    found = one(reply, "update")
    assert [(p.name, p.type, p.static, p.donated) for p in found.parameters] == [
        ("state", "{w: f32[2,2], b: [f32[2], None]}", False, True),
        ("batch", "f32[3,2]", False, False),
        ("mode", "'test'", True, False),
    ]


def test_static_values_make_signatures_of_their_own(reply: TraceReply) -> None:
    found = [f for f in reply.functions if f.function == "sized"]
    assert [[p.type for p in f.parameters] for f in found] == [["~f32[]", "4"], ["~f32[]", "5"]]


def test_keys_booleans_variadic_and_named_arguments(reply: TraceReply) -> None:
    assert signature(reply, "keyed") == [
        ("key", "key<fry>[]"), ("flag", "bool[]"), ("rest[0]", "~f32[]"), ("bias", "~i32[]"),
    ]  # fmt: skip


def test_nested_jit_says_under_what_it_was_traced(reply: TraceReply) -> None:
    assert one(reply, "inner").under == one(reply, "outer").id
    assert one(reply, "outer").under is None
    assert constant(reply, "outer").name == constant(reply, "inner").name == "TABLE"
    assert constant(reply, "outer").key == constant(reply, "inner").key
    (read,) = constant(reply, "outer").reads
    assert [place.function for place in read.frames] == ["inner", "outer"]


def test_functions_made_anew_count_as_calls_of_one(reply: TraceReply) -> None:
    found = [f for f in reply.functions if f.function == "nested_in.<locals>.local"]
    assert sum(f.calls for f in found) == 2


def test_a_loop_that_jits_anew_is_one_function_called_often(reply: TraceReply) -> None:
    found = one(reply, "rebuilt.<locals>.<lambda>")
    assert found.calls == 20
    assert [(c.name, c.holder) for c in found.constants] == [("table", "closure")]


def test_jitted_at_is_the_call(reply: TraceReply) -> None:
    at = one(reply, "outer").jitted_at
    assert at is not None and (at.line, at.function) == (line_of(PROGRAM, "# calls outer"), "main")
    inner = one(reply, "inner").jitted_at
    assert inner is not None and inner.function == "outer"


def test_a_trace_that_fails_is_reported_with_its_line(reply: TraceReply) -> None:
    (failed,) = reply.not_traced
    assert (failed.function, failed.signature) == ("fails", "x: f32[3,40]")
    assert failed.failure is not None and failed.failure.place is not None
    assert failed.failure.place.line == line_of(PROGRAM, "# wrong")
    assert failed.reason.startswith("TypeError: ")


def test_everything_is_traced_by_the_run(reply: TraceReply) -> None:
    assert {f.source for f in reply.functions} == {"run"}
    assert {f.origin for f in reply.functions} == {"main()"}
    assert all(f.trace_seconds is not None and 0 < f.trace_seconds < 60 for f in reply.functions)


def test_jaxpr_text_shows_no_array(tmp_path: Path) -> None:
    program = """
        import jax
        import jax.numpy as jnp
        import numpy as np

        BIG = np.random.default_rng(0).random((1000, 1000), dtype=np.float32)
        DEVICE = jnp.asarray(BIG)


        @jax.jit
        def inner(x):
            return x @ DEVICE


        @jax.jit
        def f(x):
            return inner(x @ BIG)


        f(jnp.ones((2, 1000)))
    """
    project = write(tmp_path, {"program.py": program})
    with Worker(project) as worker:
        reply = worker.request(request(project))
        found = one(reply, "f")
        text = worker.request(FetchRequest(found.jaxpr))
        assert text.total == len(text.text) < 2000
        assert "dot_general" in text.text and "0." not in text.text
        assert f"{found.constants[0].variable}:f32[1000,1000]" in text.text
        part = worker.request(FetchRequest(found.jaxpr, 2, 5))
        assert (part.text, part.total) == (text.text[2:7], text.total)
        assert worker.request(FetchRequest("nonsense")).kind == "unsupported"


def test_modules_traced_on_import_and_packages(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/data.py": "import jax.numpy as jnp\nTABLE = jnp.ones((9, 9))\n",
        "pkg/sub/program.py": """
            import jax
            import jax.numpy as jnp
            from .data import TABLE


            @jax.jit
            def f(x):
                return x @ TABLE


            RESULT = f(jnp.ones(9))
            assert __name__ == "pkg.sub.program"
        """,
    }
    project = write(tmp_path, files)
    with Worker(project) as worker:
        reply = worker.request(request(project, "pkg.sub.program"))
    assert reply.failure is None, reply.failure
    assert constant(reply, "f").name == "TABLE"
    assert one(reply, "f").origin == ""
    assert {Path(p).name for p in reply.imported} == {"__init__.py", "data.py", "program.py"}


EQUINOX = """
    import equinox as eqx
    import jax.numpy as jnp


    @eqx.filter_jit
    def pair(x, n):
        return {"twice": x * n, "n": n}, "text"


    def run():
        pair(jnp.ones(3), 2)
"""


def test_results_are_those_of_the_users_function(tmp_path: Path) -> None:
    pytest.importorskip("equinox")
    reply = trace(tmp_path, {"program.py": EQUINOX}, entries=("run",))
    assert one(reply, "pair").out == ("f32[3]",)
