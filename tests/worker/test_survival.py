"""What a user's module may do to a worker, and what the worker says then."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

from jaxscope_worker.wire.messages import TraceReply

from support import Worker, line_of, one, request, trace, write

JITTED = """
    import jax
    import jax.numpy as jnp


    @jax.jit
    def f(x):
        return x + 1


    f(1.0)
"""


UNSAVED = """
    import jax
    from other import VALUE


    @jax.jit
    def unsaved(x):
        return x


    unsaved(1.0)
    assert VALUE == "unsaved"
    raise KeyError(VALUE)
"""


def test_hello_comes_first_and_names_the_versions(tmp_path: Path) -> None:
    with Worker(tmp_path) as worker:
        import jax

        assert worker.hello.jax == jax.__version__
        assert (worker.hello.platform, worker.hello.x64, worker.hello.constants) == ("cpu", False, "inlined")
        assert worker.shutdown() == 0


def test_the_worker_leaves_the_users_path_alone(tmp_path: Path) -> None:
    program = """
        import importlib.util
        import sys

        import wire

        assert wire.MINE
        assert sys.path[0] == wire.ROOT, sys.path
        assert sys.path[-1].endswith("worker"), sys.path
        for name in ("loop", "channel", "session", "walking"):
            assert importlib.util.find_spec(name) is None, name
        assert __name__ != "__main__"
    """
    wire = "import os\nMINE, ROOT = True, os.path.dirname(os.path.abspath(__file__))\n"
    reply = trace(tmp_path, {"program.py": program, "wire.py": wire})
    assert reply.failure is None, reply.failure


def test_exit_on_import_is_the_users_error(tmp_path: Path) -> None:
    program = JITTED + "\n\n    import sys\n    sys.exit(3)  # leaves\n"
    reply = trace(tmp_path, {"program.py": program})
    assert reply.failure is not None and reply.failure.kind == "user-error"
    assert reply.failure.message == "SystemExit: 3"
    assert reply.failure.place is not None and reply.failure.place.line == line_of(program, "# leaves")
    assert one(reply, "f").calls == 1


def test_exception_names_the_innermost_line_of_the_user(tmp_path: Path) -> None:
    program = """
        import jax.numpy as jnp
        from other import deeper

        deeper(jnp.ones(3))
    """
    other = """
        import jax.numpy as jnp


        def deeper(x):
            return jnp.dot(x, jnp.ones(4))  # here
    """
    failure = trace(tmp_path, {"program.py": program, "other.py": other}).failure
    assert failure is not None and failure.place is not None
    assert failure.place.path.endswith("other.py") and failure.place.line == line_of(other, "# here")
    assert failure.place.function == "deeper"
    assert failure.message.startswith("TypeError: ")
    first = failure.traceback.splitlines()
    assert "program.py:5" in first[0] and "other.py" in first[2]


def test_syntax_error_has_its_place(tmp_path: Path) -> None:
    failure = trace(tmp_path, {"program.py": "x = 1\ndef broken(:\n"}).failure
    assert failure is not None and failure.place is not None
    assert failure.message.startswith("SyntaxError: ") and failure.place.line == 2


def test_missing_module_and_missing_entry(tmp_path: Path) -> None:
    failure = trace(tmp_path / "a", {"program.py": "import not_there_at_all\n"}).failure
    assert failure is not None and failure.message == "ModuleNotFoundError: No module named 'not_there_at_all'"
    reply = trace(tmp_path / "b", {"program.py": JITTED}, entries=("main",))
    assert reply.failure is not None and reply.failure.message == "program has no main"
    assert one(reply, "f")


def test_prints_do_not_reach_the_protocol(tmp_path: Path) -> None:
    program = (
        JITTED
        + """
    import ctypes
    import os
    import sys

    print("Content-Length: 5")
    sys.stdout.write("\\r\\n\\r\\n{}")
    os.write(1, b"Content-Length: 2\\r\\n\\r\\n{}")
    os.system  # not called
    libc = ctypes.CDLL(None)
    libc.puts(b"from C")
    libc.fflush(None)
    try:
        input()
    except EOFError:
        print("no input")
    """
    )
    project = write(tmp_path, {"program.py": program})
    with Worker(project) as worker:
        reply = worker.request(request(project))
        assert reply.failure is None, reply.failure
        assert one(reply, "f")
        again = worker.request(request(project))
        assert one(again, "f")
        assert worker.shutdown() == 0
        worker._reader.join(10)
    assert "from C" in worker.stderr and "no input" in worker.stderr


def test_endless_loop_can_be_killed(tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": "while True:\n    pass\n"})
    with Worker(project) as worker:
        worker.send(request(project))
        message = worker.read()
        assert message is not None and message["progress"]["stage"] == "importing"
        time.sleep(0.3)
        assert worker.process.poll() is None
        worker.process.kill()
        assert worker.process.wait(10) != 0


def test_worker_ends_when_the_server_goes_although_the_user_loops(tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": "while True:\n    pass\n"})
    with Worker(project) as worker:
        worker.send(request(project))
        assert worker.read() is not None
        assert worker.process.stdin is not None
        worker.process.stdin.close()
        worker.process.wait(20)


def test_abort_ends_the_worker_and_leaves_a_trace(tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": "import os\n\nos.abort()\n"})
    with Worker(project) as worker:
        assert worker.request(request(project)) is None
        assert worker.process.returncode not in (0, None)
        assert "program.py" in worker.stderr


def test_allocation_that_cannot_be_is_an_error_like_any_other(tmp_path: Path) -> None:
    program = "import numpy as np\n\nx = np.ones(1 << 55, np.uint8)\n"
    failure = trace(tmp_path, {"program.py": program}).failure
    assert failure is not None and failure.place is not None and failure.place.line == 3
    assert "MemoryError" in failure.message


def test_endless_recursion_is_an_error_like_any_other(tmp_path: Path) -> None:
    failure = trace(tmp_path, {"program.py": "def f(x):\n    return f(x) + 1\n\n\nf(1)\n"}).failure
    assert failure is not None and failure.message.startswith("RecursionError")


def test_threads_do_not_keep_the_worker_alive(tmp_path: Path) -> None:
    program = (
        JITTED
        + """
    import threading
    import time


    def forever():
        while True:
            time.sleep(0.01)


    threading.Thread(target=forever).start()
    """
    )
    project = write(tmp_path, {"program.py": program})
    with Worker(project) as worker:
        assert one(worker.request(request(project)), "f")
        assert worker.shutdown() == 0


def test_unknown_and_broken_requests_are_answered(tmp_path: Path) -> None:
    from jaxscope_worker.wire import codec

    with Worker(tmp_path) as worker:
        assert worker.process.stdin is not None
        codec.write_frame(worker.process.stdin, {"id": 7, "method": "levitate", "params": {}})
        message = worker.read()
        assert message is not None and message["id"] == 7 and message["failure"]["kind"] == "unsupported"
        codec.write_frame(worker.process.stdin, {"id": 8, "method": "trace", "params": {"path": 3}})
        message = worker.read()
        assert message is not None and "path" in message["failure"]["message"]
        assert worker.shutdown() == 0


def test_unsaved_texts_are_what_runs(tmp_path: Path) -> None:
    files = {"program.py": "raise RuntimeError('the saved text')\n", "other.py": "VALUE = 'saved'\n"}
    project = write(tmp_path, files)
    text = textwrap.dedent(UNSAVED)
    with Worker(project) as worker:
        overlay = {str(project / "other.py"): "VALUE = 'unsaved'\n"}
        reply = worker.request(request(project, text=text, overlay=overlay))
        assert isinstance(reply, TraceReply)
        assert one(reply, "unsaved").line == 7
        assert reply.failure is not None and reply.failure.message == "KeyError: 'unsaved'"
        assert "raise KeyError(VALUE)" in reply.failure.traceback
        assert not list(project.rglob("*.pyc"))


def test_a_second_trace_runs_the_new_text(tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": JITTED, "helper.py": "A = 1\n"})
    with Worker(project) as worker:
        first = worker.request(request(project))
        text = "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f(x):\n    return x * 2 + 1\n\n\nf(1.0)\n"
        second = worker.request(request(project, text=text))
    assert (one(first, "f").equations, one(second, "f").equations) == (1, 2)
    assert one(first, "f").id != one(second, "f").id


def test_the_file_is_loaded_although_its_name_is_taken(tmp_path: Path) -> None:
    project = write(tmp_path, {"json.py": JITTED})
    with Worker(project) as worker:
        reply = worker.request(request(project, "json"))
        assert reply.failure is None, reply.failure
        assert one(reply, "f").path.endswith("json.py")
        assert worker.shutdown() == 0


def test_modules_that_parse_arguments(tmp_path: Path) -> None:
    program = "import argparse\n\np = argparse.ArgumentParser()\np.add_argument('data')\np.parse_args()\n"
    failure = trace(tmp_path, {"program.py": program}).failure
    assert failure is not None and failure.message == "SystemExit: 2"
    assert failure.place is not None and failure.place.line == 5
