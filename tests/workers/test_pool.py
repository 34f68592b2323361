"""Processes that crash, hang, eat memory, print and start threads, for real."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import alive, wait_until

from jaxscope.config import Config
from jaxscope.tracing.cancellation import Cancellation
from jaxscope.tracing.evidence import text_hash
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, FetchRequest, Hello, TraceRequest
from jaxscope.workers.pool import Pool, Session

MakePool = Callable[..., Pool]
RequestFor = Callable[..., TraceRequest]

GOOD = """
import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.arange(600.0 * 700).reshape(600, 700), dtype="float32")

@jax.jit
def project(x):
    return x @ W

def main():
    return project(jnp.ones((3, 600)))
"""
FOREVER = "while True:\n    pass\n"


def pids(pool: Pool) -> set[int]:
    return {client.pid for client in pool._clients}


def test_a_file_is_traced_and_its_worker_can_be_asked_more(make_pool: MakePool, request_for: RequestFor) -> None:
    pool = make_pool()
    session = pool.open(request_for(GOOD, entries=("main",)))
    assert isinstance(session, Session), session
    (traced,) = session.evidence.reply.functions
    assert traced.function == "project"
    assert [(c.name, c.shape, c.bytes) for c in traced.constants] == [("W", (600, 700), 600 * 700 * 4)]
    assert session.evidence.text_hash == text_hash(GOOD)
    assert "dot_general" in session.text(traced.jaxpr)
    (pid,) = pids(pool)
    session.close()
    assert wait_until(lambda: not alive(pid))
    assert not session.alive


def test_hello_says_what_the_interpreter_has(make_pool: MakePool) -> None:
    hello = make_pool().hello()
    assert isinstance(hello, Hello)
    assert hello.python == ".".join(map(str, sys.version_info[:3]))
    assert hello.jax and hello.platform == "cpu"


def test_abort_is_a_crash_with_the_tail_of_stderr(make_pool: MakePool, request_for: RequestFor) -> None:
    failure = make_pool().open(
        request_for("import os, sys\nprint('last words', file=sys.stderr, flush=True)\nos.abort()\n")
    )
    assert isinstance(failure, Failure)
    assert failure.kind == "crashed"
    assert failure.message == "The worker crashed (signal 6)"
    assert "last words" in failure.traceback


def test_os_exit_is_a_crash_with_its_status(make_pool: MakePool, request_for: RequestFor) -> None:
    failure = make_pool().open(request_for("import os\nos._exit(3)\n"))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message) == ("crashed", "The worker ended with exit status 3")


def test_sys_exit_is_the_users_own_error(make_pool: MakePool, request_for: RequestFor) -> None:
    session = make_pool().open(request_for("import sys\n\nsys.exit(1)\n"))
    assert isinstance(session, Session)
    failure = session.evidence.reply.failure
    assert failure is not None and failure.kind == "user-error"
    assert "exit" in failure.message.lower()
    assert failure.place is not None and failure.place.line == 3


def test_a_loop_without_end_is_stopped_at_the_deadline(make_pool: MakePool, request_for: RequestFor) -> None:
    pool = make_pool(timeout=1.5)
    failure = pool.open(request_for(FOREVER))
    assert isinstance(failure, Failure)
    assert failure.kind == "timed-out"
    assert failure.message == "The worker was stopped after 1.5 s (jaxscope.trace.timeout)"
    assert not pids(pool)


def test_cancelling_from_another_thread_ends_the_call_and_the_process(
    make_pool: MakePool, request_for: RequestFor
) -> None:
    pool = make_pool(spare=True)
    assert isinstance(pool.hello(), Hello)
    cancellation, started = Cancellation(), threading.Event()
    answers: list[object] = []
    request = request_for(FOREVER)

    def call() -> None:
        answers.append(pool.open(request, on_progress=lambda _: started.set(), cancellation=cancellation))

    thread = threading.Thread(target=call)
    (pid,) = pids(pool)
    thread.start()
    assert started.wait(20)
    cancellation.cancel()
    thread.join(20)
    (failure,) = answers
    assert isinstance(failure, Failure) and failure.kind == "cancelled"
    assert wait_until(lambda: not alive(pid))


def test_what_is_cancelled_already_never_starts(make_pool: MakePool, request_for: RequestFor) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    failure = make_pool().open(request_for(GOOD), cancellation=cancellation)
    assert isinstance(failure, Failure) and failure.kind == "cancelled"


def test_a_request_cancelled_before_its_turn_leaves_the_worker_to_the_others(
    make_pool: MakePool, request_for: RequestFor
) -> None:
    session = make_pool().open(request_for(GOOD, entries=("main",)))
    assert isinstance(session, Session), session
    (traced,) = session.evidence.reply.functions
    cancellation = Cancellation()
    cancellation.cancel()
    with session._turn:  # as while another thread's request is under way
        answer = session.request(FetchRequest(traced.jaxpr), cancellation=cancellation)
    assert answer == Failure("cancelled", "Cancelled")
    assert session.request(FetchRequest(traced.jaxpr), cancellation=cancellation) == answer
    assert session.alive and "dot_general" in session.text(traced.jaxpr)


def test_memory_in_use_is_held_under_the_limit(make_pool: MakePool, request_for: RequestFor) -> None:
    grow = "import numpy as np\nkept = []\nwhile True:\n    kept.append(np.ones(8 << 20))\n"
    failure = make_pool(memoryLimit="1GiB").open(request_for(grow))
    assert isinstance(failure, Failure)
    assert failure.kind == "crashed"
    assert failure.message == "The worker was stopped at 1.0 GiB (jaxscope.trace.memoryLimit)"


def test_a_hundred_gigabytes_at_once_do_not_get_through(make_pool: MakePool, request_for: RequestFor) -> None:
    answer = make_pool(memoryLimit="1GiB").open(request_for("import numpy as np\nbig = np.ones((100 << 30) // 8)\n"))
    # Whether the system refuses the memory or hands it out page by page is the system's choice.
    if isinstance(answer, Session):
        assert answer.evidence.reply.failure is not None
        assert "Unable to allocate" in answer.evidence.reply.failure.message
    else:
        assert answer.message == "The worker was stopped at 1.0 GiB (jaxscope.trace.memoryLimit)"


def test_reserved_memory_that_is_not_used_does_not_count(make_pool: MakePool, request_for: RequestFor) -> None:
    reserve = "import mmap\nroom = mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
    session = make_pool(memoryLimit="2GiB").open(request_for(reserve + GOOD, entries=("main",)))
    assert isinstance(session, Session)
    assert session.evidence.reply.failure is None
    assert len(session.evidence.reply.functions) == 1


def test_threads_that_a_module_starts_keep_nothing_alive(make_pool: MakePool, request_for: RequestFor) -> None:
    threads = "import threading, time\nthreading.Thread(target=lambda: time.sleep(1000)).start()\n"
    pool = make_pool()
    session = pool.open(request_for(threads + GOOD, entries=("main",)))
    assert isinstance(session, Session)
    assert len(session.evidence.reply.functions) == 1
    (pid,) = pids(pool)
    session.close()
    assert wait_until(lambda: not alive(pid))


def test_prints_do_not_disturb_the_protocol(tmp_path: Path, request_for: RequestFor) -> None:
    noise = "import os, sys\nprint('Content-Length: 5')\nos.write(1, b'raw\\n')\nsys.stdout.flush()\n"
    lines: list[str] = []
    pool = Pool(sys.executable, Config(), root=str(tmp_path), log=lines.append, spare=False)
    try:
        session = pool.open(request_for(noise + GOOD, entries=("main",)))
        assert isinstance(session, Session)
        assert len(session.evidence.reply.functions) == 1
        assert wait_until(lambda: "raw" in lines and "Content-Length: 5" in lines)
    finally:
        pool.close()


def test_the_spare_is_used_and_replaced(make_pool: MakePool, request_for: RequestFor) -> None:
    pool = make_pool(spare=True)
    assert isinstance(pool.hello(), Hello)
    (spare,) = pids(pool)
    session = pool.open(request_for(GOOD, entries=("main",)))
    assert isinstance(session, Session)
    assert session._client.pid == spare
    assert wait_until(lambda: len(pids(pool)) == 2)


def test_closing_the_pool_leaves_nothing_running(make_pool: MakePool, request_for: RequestFor) -> None:
    pool = make_pool(spare=True)
    session = pool.open(request_for(GOOD))
    assert isinstance(session, Session)
    running = pids(pool)
    assert len(running) == 2
    pool.close()
    assert wait_until(lambda: not any(map(alive, running)))
    failure = pool.open(request_for(GOOD))
    assert isinstance(failure, Failure) and failure.kind == "cancelled"


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path, request_for: RequestFor) -> None:
    request = request_for("import os\nopen(os.environ['PID_FILE'], 'w').write(str(os.getpid()))\n" + FOREVER)
    script = textwrap.dedent(f"""
        import sys
        from jaxscope.config import Config
        from jaxscope.worker.jaxscope_worker.wire.messages import TraceRequest
        from jaxscope.workers.pool import Pool
        pool = Pool(sys.executable, Config(), root={str(tmp_path)!r})
        request = TraceRequest({request.path!r}, {request.root!r}, "case", allow_side_effects=("write",))
        pool.open(request)
    """)
    pid_file = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PID_FILE": str(pid_file)})
    try:
        assert wait_until(lambda: pid_file.exists() and pid_file.read_text() != "", 30)
        worker = int(pid_file.read_text())
        assert alive(worker)
    finally:
        parent.kill()
        parent.wait()
    assert wait_until(lambda: not alive(worker))


def test_three_deaths_stop_the_pool(make_pool: MakePool, request_for: RequestFor) -> None:
    pool = make_pool()
    crash = request_for("import os\nos._exit(9)\n")
    messages = [pool.open(crash) for _ in range(4)]
    assert [getattr(item, "message", item) for item in messages[:3]] == ["The worker ended with exit status 9"] * 3
    assert messages[3] == Failure("crashed", "Stopped three times; not started again.")
    assert pool.open(request_for(GOOD)) == messages[3]


def test_an_interpreter_that_is_not_there(make_pool: MakePool, request_for: RequestFor) -> None:
    failure = make_pool(python="/nowhere/python").open(request_for(GOOD))
    assert failure == Failure("no-jax", "Cannot run /nowhere/python: No such file or directory")


def test_an_interpreter_that_is_no_python(make_pool: MakePool, request_for: RequestFor, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho not today >&2\nexit 4\n")
    script.chmod(0o755)
    failure = make_pool(python=str(script)).open(request_for(GOOD))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message) == ("crashed", f"No worker starts in {script}: not today")


def test_an_interpreter_without_jax(make_pool: MakePool, request_for: RequestFor, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")], check=True)
    python = str(tmp_path / "empty" / "bin" / "python")
    failure = make_pool(python=python).open(request_for(GOOD))
    assert isinstance(failure, Failure)
    assert failure.kind == "no-jax"
    assert failure.message.startswith("No JAX in ")


def test_the_device_worker_may_choose_its_platform(make_pool: MakePool, request_for: RequestFor) -> None:
    text = "import os\nassert os.environ.get('JAX_PLATFORMS') != 'cpu' or os.environ['GIVEN'] == 'cpu'\n"
    pool = make_pool(env={"GIVEN": os.environ.get("JAX_PLATFORMS", "")})
    device = pool.open(request_for(text), platform="device")
    assert isinstance(device, Session)
    assert device.evidence.reply.failure is None
    trace = pool.open(request_for("import os\nassert os.environ['JAX_PLATFORMS'] == 'cpu'\n"))
    assert isinstance(trace, Session)
    assert trace.evidence.reply.failure is None
