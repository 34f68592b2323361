"""What later commands make of a recorded run, and until when."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_cli import jaxscope
from run_record import TRAIN, check, record, write

pytestmark = pytest.mark.jax


def test_a_recording_is_evidence_without_running_anything(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    before = check(tmp_path, "train.py", "--no-trace")
    assert all(item["evidence"] == "static" for item in before["findings"])
    record(tmp_path, "train.py", "0")
    found = check(tmp_path, "train.py", "--no-trace")
    assert {(item["name"], item["function"], item["evidence"]) for item in found["findings"]} == {
        ("W", "step", "both"),
        ("scale", "main.<locals>.<lambda>", "both"),
    }
    rows = {row["function"]: row for row in found["functions"]}
    assert rows["step"]["status"] == "traced"
    said = jaxscope("check", "train.py", "--no-trace", "--select", "captured-array", cwd=tmp_path).out
    assert said.count(" [recorded]\n") == 2
    assert "[traced]" not in said
    ran = jaxscope("check", "train.py", "--trace", "--select", "captured-array", cwd=tmp_path).out
    assert ran.count(" [traced]\n") == 1
    assert ran.count(" [recorded]\n") == 1  # `main` is not called by an import
    assert {(one["in"][0], one["source"]) for one in rows["step"]["signatures"]} == {
        ("f32[2,600]", "recorded"),
        ("f32[3,600]", "recorded"),
    }


FACTORY = """
    import sys

    import jax
    import jax.numpy as jnp
    import numpy as np


    def make(table):
        @jax.jit
        def apply(x):
            return x @ table
        return apply


    for n in range(2):
        make(np.full((600, 600), n, np.float32) + 1)(jnp.ones((len(sys.argv), 600)))
"""


def test_every_array_of_a_factory_is_told_and_those_of_a_job_once(tmp_path: Path) -> None:
    write(tmp_path, factory_py=FACTORY)
    record(tmp_path, "factory.py")
    (found,) = check(tmp_path, "factory.py", "--no-trace")["findings"]
    assert (found["array"]["count"], found["array"]["total_bytes"]) == (2, 2 * 600 * 600 * 4)
    # Another process of the same run, with arrays of its own and another shape.
    (run,) = (tmp_path / ".jaxscope" / "recordings").iterdir()
    before = set(run.iterdir())
    record(tmp_path, "factory.py", "more")
    (other,) = {*(tmp_path / ".jaxscope" / "recordings").iterdir()} - {run}
    for part in other.iterdir():
        part.rename(run / part.name)
    other.rmdir()
    assert len(set(run.iterdir()) - before) == 1
    (found,) = check(tmp_path, "factory.py", "--no-trace")["findings"]
    assert found["array"]["count"] == 2


def test_recorded_places_move_with_the_code_and_end_with_it(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", "0")
    text = (tmp_path / "train.py").read_text()
    (tmp_path / "train.py").write_text("# one\n# two\n" + text.replace("def main():", "# three\ndef main():"))
    found = check(tmp_path, "train.py", "--no-trace")
    lines = {item["name"]: item["range"]["start"]["line"] for item in found["findings"] if item["evidence"] == "both"}
    assert lines == {"W": 12, "scale": 21}
    (tmp_path / "train.py").write_text(text.replace("x @ W * n", "x @ W * n + 1"))
    changed = {item["name"]: item["evidence"] for item in check(tmp_path, "train.py", "--no-trace")["findings"]}
    assert changed == {"W": "static", "scale": "both"}


ARRAYS = """
    import jax, jax.numpy as jnp
    import tables

    W = jnp.ones((600, 600))


    class Layer:
        def __init__(self):
            self.w = jnp.ones((600, 601))

        def apply(self, x):
            return x @ self.w


    @jax.jit
    def step(x):
        return x @ W @ tables.T


    def main():
        local = jnp.ones((600, 602))

        def inner(x):
            return x @ local

        project = jax.jit(inner)
        x = jnp.ones((2, 600))
        return step(x), project(x), jax.jit(Layer().apply)(x)


    def other():
        return 1


    if __name__ == "__main__":
        main()
"""


SEEN = {"W", "tables.T", "self.w", "local"}


@pytest.mark.parametrize(
    ("file", "old", "new", "left"),
    [
        ("program.py", "W = jnp.ones((600, 600))", "W = 3.0", set()),
        ("program.py", "W = jnp", "V = W = jnp", set()),
        ("tables.py", "700", "7", set()),
        ("program.py", "600, 602", "600, 2", set()),
        ("program.py", "jax.jit(inner)", "inner", set()),
        ("program.py", "600, 601", "600, 1", {"W", "tables.T", "local"}),
        ("program.py", "@jax.jit\n", "", {"self.w", "local"}),
        ("program.py", "return 1", "return 2", SEEN),
        ("program.py", "W = jnp", "# what it is\nW = jnp", SEEN),
        ("tables.py", "T = ", "\n\nT = ", SEEN),
    ],
)
def test_what_an_array_was_made_of_counts_too(file: str, old: str, new: str, left: set[str], tmp_path: Path) -> None:
    write(tmp_path, program_py=ARRAYS, tables_py="import jax.numpy as jnp\nT = jnp.ones((600, 700))\n")
    record(tmp_path, "program.py")

    def seen() -> set[str]:
        found = check(tmp_path, "program.py", "--no-trace")["findings"]
        return {item["name"] for item in found if item["evidence"] != "static"}

    assert seen() == SEEN
    text = (tmp_path / file).read_text()
    assert text.count(old) == 1
    (tmp_path / file).write_text(text.replace(old, new))
    assert seen() == left


def test_what_is_compiled_no_more_is_not_traced_for_it(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", "0")
    text = (tmp_path / "train.py").read_text()
    (tmp_path / "train.py").write_text(text.replace("@jax.jit\n", ""))
    assert "W" not in {item["name"] for item in check(tmp_path, "train.py", "--trace")["findings"]}


def test_a_helper_in_another_file_counts_as_its_code(tmp_path: Path) -> None:
    helper = "import numpy as np\nT = np.ones((700, 700), np.float32)\ndef look(x):\n    return x @ T\n"
    train = "import jax, jax.numpy as jnp, helper\nstep = jax.jit(lambda x: helper.look(x))\nstep(jnp.ones((2, 700)))\n"
    write(tmp_path, helper_py=helper, train_py=train)
    record(tmp_path, "train.py")
    (tmp_path / "helper.py").write_text("# moved\n" + helper)
    (finding,) = check(tmp_path, ".", "--no-trace")["findings"]
    assert (finding["path"], finding["range"]["start"]["line"], finding["evidence"]) == ("helper.py", 5, "both")
    (tmp_path / "helper.py").write_text(helper.replace("x @ T", "2 * x @ T"))
    assert all(item["evidence"] == "static" for item in check(tmp_path, ".", "--no-trace")["findings"])


def test_recorded_shapes_are_traced_again(tmp_path: Path) -> None:
    program = """
        from functools import partial
        import jax, jax.numpy as jnp

        @partial(jax.jit, static_argnames=("mode", "n"))
        def step(params, x, n, mode="train"):
            return params["w"] @ x * n

        def main():
            step({"w": jnp.ones((4, 8)), "b": [jnp.ones(3), None]}, jnp.ones(8), 3, mode="eval")

        if __name__ == "__main__":
            main()
    """
    write(tmp_path, train_py=program)
    record(tmp_path, "train.py")
    text = (tmp_path / "train.py").read_text()
    # Other code, the same parameters: only a trace can tell.
    (tmp_path / "train.py").write_text(
        text.replace("* n", "* n + jnp.zeros((9, 1)) @ jnp.ones((1, 4)) @ jnp.ones(4).sum()")
    )
    assert check(tmp_path, "train.py", "--no-trace")["functions"][0]["signatures"] == []
    (tmp_path / "train.py").write_text(text.replace("* n", "* n * 2"))
    (row,) = check(tmp_path, "train.py", "--trace")["functions"]
    assert row["signatures"] == [
        {"in": ["{w: f32[4,8], b: [f32[3], None]}", "f32[8]", "3", "'eval'"], "out": ["f32[4]"], "source": "recorded"}
    ]


def test_what_text_cannot_say_keeps_its_evidence(tmp_path: Path) -> None:
    program = """
        import jax, jax.numpy as jnp

        @jax.tree_util.register_pytree_node_class
        class State:
            def __init__(self, w):
                self.w = w
            def tree_flatten(self):
                return (self.w,), None
            @classmethod
            def tree_unflatten(cls, _, children):
                return cls(*children)

        TABLE = jnp.ones((600, 600)) * jnp.arange(600.0)

        @jax.jit
        def step(state):
            return state.w @ TABLE

        if __name__ == "__main__":
            step(State(jnp.ones((2, 600))))
    """
    write(tmp_path, train_py=program)
    record(tmp_path, "train.py")
    found = check(tmp_path, "train.py", "--trace")
    (row,) = found["functions"]
    assert (row["status"], row["signatures"][0]["source"]) == ("traced", "recorded")
    assert [(item["name"], item["evidence"]) for item in found["findings"]] == [("TABLE", "both")]
