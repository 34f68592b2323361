"""A recorded program is the program: it sees, prints and ends what it does when nobody watches; so do its children."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from jaxscope_worker.wire import recording as wire
from recorded import recording, run

from support import write

SEES = """
    import os, signal, sys, threading

    def seen():
        main = sys.modules["__main__"]
        return {
            "argv": (sys.argv, sys.orig_argv), "path": sys.path, "name": main.__name__, "file": main.__file__,
            "package": main.__package__, "spec": main.__spec__ and main.__spec__.name, "flags": sys.flags,
            "hooks": (sys.excepthook, sys.displayhook), "threads": threading.active_count(), "cwd": os.getcwd(),
            "signals": signal.getsignal(signal.SIGINT), "modules": "jax" in sys.modules, "trace": sys.gettrace(),
            "environment": {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "JAXSCOPE_RECORDING")},
            "input": sys.stdin.read(), "tty": sys.stdout.isatty(), "globals": sorted(vars(main)),
        }

    def show(what):
        for name, value in what.items():
            print(name, repr(value))

    if __name__ == "__main__":
        show(seen())
        import jax
        show({"loader": (jax.__spec__, vars(jax.__loader__)), "finders": sys.meta_path, "path": sys.path})
        print(jax.jit(lambda x: x + 1)(1.0), jax.make_jaxpr(jax.jit(lambda x: x + 1))(1.0))
        sys.exit(3)
"""


def steady(text: str) -> str:
    """Without addresses, which differ from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x…", text)


FILES = {"program.py": SEES, "pkg/__init__.py": "import jax", "pkg/__main__.py": SEES, "pkg/module.py": SEES}


@pytest.mark.parametrize(
    "arguments",
    [
        ("program.py", "-m", "--x=1"),
        ("-m", "pkg", "a b", "--", "-c"),
        ("-m", "pkg.module"),
        ("-X", "dev", "./program.py"),
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_it_sees_what_it_always_sees(arguments: tuple[str, ...], tmp_path: Path) -> None:
    project = write(tmp_path, FILES)
    alone, watched = run(project, *arguments, recorded=False), run(project, *arguments)
    assert steady(watched.stdout) == steady(alone.stdout)
    assert steady(watched.stderr) == steady(alone.stderr)
    assert alone.returncode == watched.returncode == 3
    assert len(recording(project).all(wire.Recorded)) >= 1


RAISES = {
    "at the top": "import jax\nraise ValueError('no')",
    "without jax": "raise ValueError('no')",
    "exit with a message": "import jax, sys\nsys.exit('good bye')",
    "no such module": "import jax.nothing",
    "no syntax": "def f(:\n",
    "while tracing": """
        import jax, jax.numpy as jnp

        def inner(x):
            return x @ jnp.ones(3)

        @jax.jit
        def outer(x):
            return jax.jit(inner)(x)

        outer(jnp.ones(4))
    """,
    "a leaked tracer": """
        import jax
        kept = []
        jax.jit(lambda x: kept.append(x))(1.0)
        kept[0] + 1
    """,
    "a bad argument": "import jax\njax.jit(lambda x: x)('text')",
}


@pytest.mark.parametrize("case", RAISES)
def test_it_fails_as_it_always_fails(case: str, tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": RAISES[case]})
    alone, watched = run(project, "program.py", recorded=False), run(project, "program.py")
    assert steady(watched.stderr) == steady(alone.stderr)
    assert watched.returncode == alone.returncode != 0


def test_an_interrupt_while_tracing_ends_it(tmp_path: Path) -> None:
    """JAX hides its frames, and with them ours, from errors only."""
    project = write(tmp_path, {"program.py": "import jax\ndef f(x): raise KeyboardInterrupt\njax.jit(f)(1.0)"})
    alone, watched = run(project, "program.py", recorded=False), run(project, "program.py")
    assert watched.returncode == alone.returncode
    assert watched.stderr.splitlines()[-1] == "KeyboardInterrupt"
    (failed,) = recording(project).all(wire.Failed)
    assert (failed.function, failed.error, failed.place and failed.place.line) == ("f", "KeyboardInterrupt", 2)


def test_its_own_sitecustomize_is_imported(tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": "import jax, sys; print(sys.modules['sitecustomize'].mine)",
                               "mine/sitecustomize.py": "mine = 'mine'"})  # fmt: skip
    path = os.pathsep.join(filter(None, (str(project / "mine"), os.environ.get("PYTHONPATH"))))
    for watched in (False, True):
        assert run(project, "program.py", recorded=watched, PYTHONPATH=path).stdout == "mine\n"


CHILDREN = """
    import multiprocessing, subprocess, sys
    import jax, jax.numpy as jnp

    @jax.jit
    def step(x):
        return x * 2

    def work(n):
        return float(step(jnp.ones(n)).sum())

    if __name__ == "__main__":
        method = sys.argv[1]
        if method == "subprocess":
            subprocess.run([sys.executable, "-c", "import program; program.work(3); program.work(4)"], check=True)
        else:
            if method != "fork":
                work(2)  # a backend that runs does not survive a fork
            with multiprocessing.get_context(method).Pool(2) as pool:
                pool.map(work, [3, 4, 3, 4])
"""
METHODS = ["subprocess", "spawn", "fork", "forkserver"] if sys.platform == "linux" else ["subprocess", "spawn"]


@pytest.mark.parametrize("method", METHODS)
def test_children_write_their_own_part(method: str, tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": CHILDREN})
    done = run(project, "program.py", method)
    assert done.returncode == 0, done.stderr
    found = recording(project)
    processes = [part[0].process for part in found.parts]
    assert len(processes) == len(set(processes)) >= 2
    types = {p.type for event in found.all(wire.Recorded) for p in event.function.parameters}
    assert {"f32[3]", "f32[4]"} <= types
    for part in found.parts:
        assert isinstance(part[0], wire.Started)
        ids = {event.id for event in part if isinstance(event, wire.Recorded)}
        assert {event.id for event in part if isinstance(event, wire.Counted)} <= ids
