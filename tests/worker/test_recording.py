"""What a recorded run leaves on disk: signatures, causes, counts, whatever way the program ends; and never a value."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jaxscope_worker.wire import recording as wire
from recorded import environment, recorded, recording, run

from support import line_of, write

TWICE = """
    import jax, jax.numpy as jnp, numpy as np

    W = jnp.asarray(np.arange(64.0).reshape(8, 8), jnp.float32)

    @jax.jit
    def twice(x):
        return x @ W * 2

    twice(jnp.ones((2, 8)))
"""


def test_a_traced_function_is_recorded(tmp_path: Path) -> None:
    found = recorded(tmp_path, TWICE)
    (event,) = found.all(wire.Recorded)
    function = event.function
    assert (function.function, function.line) == ("twice", line_of(TWICE, "def twice"))
    assert [(p.name, p.type) for p in function.parameters] == [("x", "f32[2,8]")]
    assert [(c.name, c.shape, c.bytes) for c in function.constants] == [("W", (8, 8), 256)]
    assert (event.cause, function.source, function.jaxpr) == ("first call", "recorded", "")
    text = (tmp_path / "project/program.py").read_text().splitlines()
    (code,) = event.codes
    assert code.hash == wire.code_hash(text[code.first - 1 : code.end])
    assert text[code.first - 1].strip() == "@jax.jit"
    (started,), (devices,) = found.all(wire.Started), found.all(wire.Devices)
    assert (started.program, devices.platform, devices.process_count) == ("program.py", "cpu", 1)
    assert found.all(wire.Counted)[-1].compiles == 1
    assert isinstance(found.parts[0][-1], wire.Ended)


def test_the_folder_is_ignored_by_git_and_old_runs_go(tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": TWICE})
    for number in range(wire.KEPT_RUNS + 3):
        (project / wire.FOLDER / f"a{number:02}").mkdir(parents=True)
    assert run(project, "program.py").returncode == 0
    assert (project / ".jaxscope/.gitignore").read_text() == "*\n"
    kept = sorted(path.name for path in (project / wire.FOLDER).iterdir())
    assert kept == [*(f"a{number:02}" for number in range(4, 13)), "run"]


CAUSES = """
    import jax, jax.numpy as jnp, numpy as np
    from functools import partial

    class Config:
        pass

    @partial(jax.jit, static_argnames=("n", "config"))
    def f(x, tree=None, n=3, config=None):
        return x

    x = jnp.ones(8)
    f(x)
    f(jnp.ones(16))
    f(jnp.ones(8, jnp.float16))
    f(x, n=4)
    f(2.5)
    f(jnp.float32(2.5))
    f(x, {"w": x, "b": x})
    f(x, {"w": x[:2], "b": x})
    f(x, config=Config())
    f(x, config=Config())
    f(x)

    def g(x):
        return x

    for _ in range(3):
        jax.jit(lambda x: x + 1)(x)
    jax.jit(g)(x)
    jax.clear_caches()
    jax.jit(g)(x)
"""


def test_causes_are_told_in_words(tmp_path: Path) -> None:
    found = recorded(tmp_path, CAUSES)
    assert found.causes("f") == [
        "first call",
        "new shape of x: f32[8] → f32[16]",
        "new type of x: f32[8] → f16[8]",
        "static n is given as well",
        "new shape of x: f32[16] → ~f32[]",
        "weak type of x: f32[] of a Python number → f32[]",
        "tree['b'] is given as well; tree['w'] is given as well",
        "new shape of tree['w']: f32[8] → f32[2]",
        "static config is given as well",
        "static config: another <Config>, not equal to the last",
    ]
    last = {event.id: event for event in found.all(wire.Counted)}
    (fresh,) = [event.id for event in found.all(wire.Recorded) if event.function.function == "<lambda>"]
    assert (last[fresh].traces, last[fresh].cause) == (3, "a new function object with the same signature")
    (cleared,) = [event.id for event in found.all(wire.Recorded) if event.function.function == "g"]
    assert last[cleared].traces == 2
    assert last[cleared].cause.startswith("the same signature again: ")


MANY = """
    import jax, jax.numpy as jnp

    @jax.jit
    def grows(x):
        return x + 1

    for n in range(1, 101):
        grows(jnp.ones(n))
    for _ in range(100):
        jax.jit(lambda x: x * 2)(1.0)
    for _ in range(1000):
        grows(1.0)
"""


def test_what_repeats_is_counted_and_what_is_cached_not_seen(tmp_path: Path) -> None:
    found = recorded(tmp_path, MANY)
    names = found.functions()
    assert names.count("<lambda>") == 1
    assert 60 <= names.count("grows") < 70
    assert found.all(wire.Further)[-1].traces == 101 - names.count("grows")
    assert max(event.traces for event in found.all(wire.Counted)) == 100
    assert len(found.raw.splitlines()) < 250


ENDINGS = {
    "the end": ("", 0),
    "sys.exit": ("import sys; sys.exit(3)", 3),
    "os._exit": ("import os; os._exit(4)", 4),
    "an exception": ("raise ValueError('no')", 1),
    "kill -9": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9),
    "a crash": ("import ctypes; ctypes.string_at(0)", -11),
    "closed descriptors": ("import os; os.closerange(3, 200); twice(jnp.ones((3, 8)))", 0),
}


@pytest.mark.skipif(os.name != "posix", reason="ends by signal")
@pytest.mark.parametrize("ending", ENDINGS)
def test_whatever_way_it_ends_what_was_seen_is_there(ending: str, tmp_path: Path) -> None:
    code, status = ENDINGS[ending]
    found = recorded(tmp_path, TWICE + f"    {code}\n", status=status)
    assert set(found.functions()) == {"twice"}
    assert len(found.functions()) == (2 if ending == "closed descriptors" else 1)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_it_as_it_ends_any_python(tmp_path: Path) -> None:
    project = write(
        tmp_path, {"program.py": TWICE + "    print('traced', flush=True)\n    import time; time.sleep(60)\n"}
    )
    process = subprocess.Popen(
        [sys.executable, "program.py"], cwd=project, env=environment(project, True), stdout=-1, stderr=-1, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "traced\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert error.splitlines()[-1] == "KeyboardInterrupt"
    assert "jaxscope" not in error
    assert recording(project).functions() == ["twice"]


SECRETS = """
    import os, sys
    import jax, jax.numpy as jnp, numpy as np

    TABLE = np.full((64,), 271828.1828)
    SMALL = np.array([314159.26535, 2.0])

    class Model:
        def __init__(self, name):
            self.name = name
            self.w = jnp.full((64,), 161803.39887)

    MODEL = Model("model-password")

    @jax.jit
    def step(x, y, tree):
        return x * 141421.35623 + TABLE + SMALL[0] + y + tree["w"] + MODEL.w

    step(jnp.array([577215.66490]), 662607.015, {"w": np.float32(299792.458)})
    try:
        jax.jit(lambda x: (_ for _ in ()).throw(ValueError("exception-password")))(1.0)
    except ValueError:
        pass
"""


def test_no_value_is_written(tmp_path: Path) -> None:
    found = recorded(tmp_path, SECRETS, "--token", "argument-password", SECRET="environment-password")
    assert {constant.name for event in found.all(wire.Recorded) for constant in event.function.constants} == {
        "TABLE",
        "MODEL.w",
    }
    for secret in ("password", "271828", "314159", "161803", "141421", "577215", "662607", "299792"):
        assert secret.encode() not in found.raw, secret


RELEASED = """
    import gc, weakref
    import jax, jax.numpy as jnp, numpy as np

    class Box:
        def __init__(self):
            self.host, self.device = np.ones((64, 64), np.float32), jnp.ones((64, 64))

    def train(box, x):
        step = jax.jit(lambda x: x @ box.host @ box.device + np.sin(np.arange(64.0, dtype=np.float32)))
        step(x)
        try:
            jax.jit(lambda y: y @ box.host[:2])(x)
        except TypeError:
            pass

    x = jnp.ones((64, 64))
    box = Box()
    kept = [weakref.ref(value) for value in (box, box.host, box.device)]
    train(box, x)
    del box
    jax.clear_caches()
    gc.collect()
    print([reference() is None for reference in kept])
"""


def test_nothing_of_the_program_is_kept_alive(tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": RELEASED})
    assert run(project, "program.py", recorded=False).stdout == "[True, True, True]\n"
    assert run(project, "program.py").stdout == "[True, True, True]\n"
    assert len(recording(project).all(wire.Recorded)[0].function.constants) == 3


THREADS = """
    import threading
    import jax, jax.numpy as jnp

    def work(n):
        jax.jit(lambda x: jax.jit(inner)(x) * n)(jnp.ones(n))

    def inner(x):
        return x + 1

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_do_not_mix(tmp_path: Path) -> None:
    events = {event.id: event for event in recorded(tmp_path, THREADS).all(wire.Recorded)}
    outer = [event for event in events.values() if event.function.function.endswith("<lambda>")]
    inner = [event for event in events.values() if event.function.function == "inner"]
    assert len(outer) == len(inner) == 8
    for event in inner:
        above = events[event.under[0]]
        assert [p.type for p in above.function.parameters] == [p.type for p in event.function.parameters]
    assert all(event.under == () for event in outer)


def test_flags_set_before_jax_is_imported_are_heeded(tmp_path: Path) -> None:
    program = """
        import os
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"
        import jax, jax.numpy as jnp
        jax.config.update("jax_enable_x64", True)
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
        mesh = Mesh(jax.devices(), ("d",))
        x = jax.device_put(jnp.ones((3, 4)), NamedSharding(mesh, PartitionSpec("d")))
        jax.jit(lambda x: x * 2)(x)
    """
    found = recorded(tmp_path, program)
    (devices,), (event,) = found.all(wire.Devices), found.all(wire.Recorded)
    assert (devices.count, devices.x64) == (3, True)
    assert event.function.parameters[0].type == "f64[3,4]"
    assert list(event.shardings) == ["x"]
    assert "over 3 devices" in event.shardings["x"]


def test_a_program_without_jax_leaves_nothing(tmp_path: Path) -> None:
    assert recorded(tmp_path, "print('hello')").parts == []
    assert not (tmp_path / "project/.jaxscope").exists()


def test_a_path_in_another_script(tmp_path: Path) -> None:
    folder = tmp_path / "проект 数"
    found = recorded(folder, TWICE)
    assert found.functions() == ["twice"]
    assert found.all(wire.Recorded)[0].function.path == str(folder.resolve() / "project" / "program.py")


def test_where_nothing_can_be_written_the_program_runs(tmp_path: Path) -> None:
    project = write(tmp_path, {"program.py": TWICE + "    print('done')\n", ".jaxscope": "a file in the way"})
    done = run(project, "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
