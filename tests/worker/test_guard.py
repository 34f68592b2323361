"""Side effects of the user's code are stopped while it is traced, named, and let through when that was asked for."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from jaxscope_worker.wire.messages import TraceReply

from support import Worker, line_of, one, request, trace, write

HEAD = """
    import jax
    import numpy as np
    import os
    import pathlib
    import shutil
    import socket
    import subprocess
    import sys

    HERE = pathlib.Path(__file__).parent


    def attempt(action, *arguments, **options):
        try:
            return action(*arguments, **options)
        except PermissionError as error:
            return error

"""


def run(folder: Path, body: str, **fields: object) -> TraceReply:
    program = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    kept = {"kept.txt": "kept\n", "inside/also.txt": "kept\n"}
    return trace(folder, {"program.py": program, **kept}, **fields)


@pytest.mark.parametrize(
    ("action", "operation", "target"),
    [
        ("open, HERE / 'new.txt', 'w'", "write", "new.txt"),
        ("open, HERE / 'kept.txt', 'a'", "write", "kept.txt"),
        ("os.open, HERE / 'new.txt', os.O_CREAT | os.O_WRONLY", "write", "new.txt"),
        ("(HERE / 'new.txt').write_bytes, b''", "write", "new.txt"),
        ("os.makedirs, HERE / 'new' / 'deep'", "write", "new"),
        ("np.save, HERE / 'new.npy', np.zeros(3)", "write", "new.npy"),
        ("np.savetxt, HERE / 'new.txt', np.zeros(3)", "write", "new.txt"),
        ("os.remove, HERE / 'kept.txt'", "delete", "kept.txt"),
        ("(HERE / 'kept.txt').unlink,", "delete", "kept.txt"),
        ("shutil.rmtree, HERE / 'inside'", "delete", "inside"),
        ("os.rename, HERE / 'kept.txt', HERE / 'moved.txt'", "rename", "moved.txt"),
        ("subprocess.run, ['touch', str(HERE / 'new.txt')]", "process", "touch"),
        ("subprocess.Popen, 'touch new.txt', shell=True", "process", "touch new.txt"),
        ("os.system, 'touch new.txt'", "process", "touch new.txt"),
        (
            "subprocess.run, ['python', '-c', 'import os\\n\\nos.remove(1)']",
            "process",
            "python -c import os os.remove(1)",
        ),
        ("os.system, 'touch ' + 200 * 'x'", "process", "xxx…"),
        ("os.fork,", "process", "fork"),
        ("socket.create_connection, ('127.0.0.1', 9), timeout=1", "connect", "127.0.0.1:9"),
    ],
)
def test_denied(tmp_path: Path, action: str, operation: str, target: str) -> None:
    body = f"RESULT = attempt({action})  # tried\nassert isinstance(RESULT, PermissionError), RESULT"
    reply = run(tmp_path, body)
    assert reply.failure is None, reply.failure
    denied = reply.denied[0]
    assert denied.operation == operation and target in denied.target
    program = Path(os.path.realpath(tmp_path)) / "project" / "program.py"
    assert denied.place is not None and denied.place.path == str(program)
    project = program.parent
    assert {p.name for p in project.iterdir()} - {"__pycache__"} == {"program.py", "kept.txt", "inside"}
    assert (project / "kept.txt").read_text() == "kept\n"


def test_the_place_is_the_users_line_and_the_failure_says_so(tmp_path: Path) -> None:
    body = "def save():\n    with open(HERE / 'model.bin', 'wb') as out:  # saves\n        out.write(b'1')\n\n\nsave()"
    reply = run(tmp_path, body)
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    assert reply.denied[0].place is not None
    assert reply.denied[0].place.line == line_of(text, "# saves")
    assert reply.denied[0].place.function == "save"
    assert reply.failure is not None and reply.failure.message.startswith("PermissionError: ")
    assert "model.bin" in reply.failure.message


def test_what_is_allowed_happens(tmp_path: Path) -> None:
    body = "(HERE / 'new.txt').write_text('new')\nattempt(os.remove, HERE / 'kept.txt')"
    reply = run(tmp_path, body, allow_side_effects=("write",))
    project = tmp_path / "project"
    assert (project / "new.txt").read_text() == "new"
    assert (project / "kept.txt").exists()
    assert [d.operation for d in reply.denied] == ["delete"]


def test_reading_temporary_files_and_jax_itself_are_free(tmp_path: Path) -> None:
    body = """
import tempfile
import jax.numpy as jnp

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "scratch"
    path.write_text("1")
    os.rename(path, path.with_suffix(".x"))
assert (HERE / "kept.txt").read_text() == "kept\\n"
with open(os.devnull, "w") as sink:
    sink.write("x")
jax.config.update("jax_compilation_cache_dir", tempfile.mkdtemp())
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


@jax.jit
def f(x):
    return jnp.sin(x) @ jnp.ones((3, 3))


f(jnp.ones(3)).block_until_ready()
import helper_that_is_compiled
"""
    program = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    files = {"program.py": program, "kept.txt": "kept\n", "helper_that_is_compiled.py": "X = 1\n"}
    reply = trace(tmp_path, files)
    assert reply.failure is None, reply.failure
    assert reply.denied == ()
    assert one(reply, "f")


def test_threads_of_the_users_code_stay_guarded_after_the_trace(tmp_path: Path) -> None:
    body = """
import threading
import time

def save():
    for number in range(100_000):
        with (HERE.parent / "alive.txt").open("a") as seen:  # below the temp folder and outside of the project
            seen.write("x")
        attempt((HERE / "late.txt").write_text, "late")
        time.sleep(0.01)

threading.Thread(target=save, daemon=True).start()
"""
    project = write(tmp_path, {"program.py": HEAD + "".join(f"    {line}\n" for line in body.splitlines())})
    with Worker(project) as worker:
        reply = worker.request(request(project))
        assert isinstance(reply, TraceReply) and reply.failure is None
        alive = project.parent / "alive.txt"
        length = alive.stat().st_size if alive.exists() else 0
        end = time.monotonic() + 30
        while time.monotonic() < end and not (alive.exists() and alive.stat().st_size > length + 2):
            time.sleep(0.05)
        assert alive.stat().st_size > length + 2
    assert not (project / "late.txt").exists()
