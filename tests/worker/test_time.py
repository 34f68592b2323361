"""The stages of a traced function are timed on the device, both forms in turn."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from jaxscope_worker import executable, measuring
from jaxscope_worker.wire.messages import Failure
from jaxscope_worker.wire.timing import FormCost, Samples, TimeReply, TimeRequest

from support import Worker, one, request, write

PROGRAM = """\
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np

W = np.random.default_rng(0).normal(size=(400, 300)).astype(np.float32)
KEYS = jax.random.split(jax.random.PRNGKey(0), 40)
TRACES = []


@jax.jit
def project(x):
    TRACES.append(1)
    return jnp.tanh(x @ W)


@functools.partial(jax.jit, donate_argnums=0, static_argnames="times")
def update(state, key, batch, times):
    noise = jax.random.normal(key, state["w"].shape)
    return {"w": state["w"] * times + noise, "step": state["step"] + batch["n"].sum()}, batch["label"] > 2


@jax.jit
def folded(x):
    return x * jnp.cumsum(jnp.sort(W.ravel()[:20000] * 2))


@jax.jit
def calls_back(x):
    def write(a):
        open("written.txt", "w").write("x")
        return a

    return jax.pure_callback(write, jax.ShapeDtypeStruct((3,), np.float32), x)


@jax.jit
def fails(x):
    def give_up(a):
        raise KeyError("gone")

    return jax.pure_callback(give_up, jax.ShapeDtypeStruct((3,), np.float32), x)


def run():
    project(jnp.ones((5, 400)))
    state = {"w": jnp.ones((30, 3), jnp.bfloat16), "step": 0}
    batch = {"n": np.arange(4), "label": jnp.arange(5, dtype=jnp.uint8), "mask": jnp.array([True])}
    update(state, jax.random.key(3), batch, times=2)
    folded.trace(jnp.ones(20000))
    calls_back.trace(jnp.ones(3))
    fails.trace(jnp.ones(3))
"""


@pytest.fixture(scope="module")
def timing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    project = write(tmp_path_factory.mktemp("time"), {"program.py": PROGRAM})
    with Worker(project) as worker:
        reply = worker.request(request(project, entries=("run",)))
        assert reply.failure is None, reply.failure

        def measure(function: str, *forms: str, seconds: float = 0.1) -> tuple[Any, list[dict[str, Any]], str]:
            worker.progress.clear()
            before = len(worker.stderr)
            answer = worker.request(TimeRequest(one(reply, function).id, forms or ("captured",), seconds))
            return answer, list(worker.progress), worker.stderr[before:]

        yield measure


def samples(cost: FormCost) -> dict[str, Samples]:
    return {each.stage: each for each in cost.samples}


def test_both_forms_of_a_capture(timing: Any) -> None:
    reply, progress, _ = timing("project", "captured", "hoisted")
    assert isinstance(reply, TimeReply), reply
    assert [cost.form for cost in reply.forms] == ["captured", "hoisted"]
    captured, hoisted = reply.forms
    for cost in reply.forms:
        found = samples(cost)
        assert {"lower", "compile", "run"} <= set(found)
        assert found["run"].seconds
        assert all(0 < second < 10 for each in found.values() for second in each.seconds)
    size = 400 * 300 * 4
    assert size * 0.9 < captured.module_bytes - hoisted.module_bytes < size * 1.1
    assert hoisted.argument_bytes - captured.argument_bytes == size
    assert captured.constant_bytes >= size > hoisted.constant_bytes
    assert captured.output_bytes == hoisted.output_bytes == 5 * 300 * 4
    assert hoisted.flops >= 2 * 5 * 400 * 300
    assert reply.largest_difference is not None and reply.largest_difference < 1e-5
    assert (reply.device, reply.device_count) == ("cpu", 1)
    assert 1 <= reply.cores <= (os.cpu_count() or 1)
    assert reply.hlo_instructions > 1
    assert {step["stage"] for step in progress} == {"tracing", "lowering", "compiling", "running"}


def test_the_function_is_traced_again_for_its_time(timing: Any) -> None:
    reply, _, _ = timing("project")
    trace = samples(reply.forms[0])["trace"]
    assert trace.seconds
    assert reply.largest_difference is None


def test_every_sample_is_reported_as_it_comes(timing: Any) -> None:
    reply, progress, _ = timing("project", "captured", "hoisted")
    for stage, name in (("running", "run"), ("compiling", "compile"), ("lowering", "lower")):
        told = [step["detail"].split() for step in progress if step["stage"] == stage and " " in step["detail"]]
        for cost in reply.forms:
            seconds = [float(second) for form, second in (t for t in told if len(t) == 2) if form == cost.form]
            assert seconds == pytest.approx(samples(cost)[name].seconds, rel=1e-6)
    runs = [step["detail"].split()[0] for step in progress if step["stage"] == "running"]
    runs = [form for form in runs if form in ("captured", "hoisted")]
    assert runs[:4] == ["captured", "hoisted", "captured", "hoisted"]


def test_a_batch_is_long_enough() -> None:
    runner = measuring.Runner(lambda: time.sleep(0.0005))
    runner.warm_up()
    assert 2 <= runner.per_batch <= 12
    assert runner.sample() >= 0.0005
    assert len(runner.seconds) == 1


def test_a_long_call_is_a_batch_by_itself() -> None:
    runner = measuring.Runner(lambda: time.sleep(0.02))
    runner.warm_up()
    assert runner.per_batch == 1


@pytest.mark.parametrize(
    ("count", "elapsed", "wanted", "enough"),
    [
        (6, 2.0, 1.0, False),  # too few
        (7, 0.9, 1.0, False),  # too short
        (7, 1.0, 1.0, True),
        (1, 5.0, 1.0, True),  # too slow to go on
        (1, 4.9, 0.1, False),
        (200, 0.5, 1.0, True),
    ],
)
def test_how_long_a_stage_is_repeated(count: int, elapsed: float, wanted: float, enough: bool) -> None:
    assert measuring.enough(count, elapsed, wanted) is enough


def test_donation_keys_trees_and_statics(timing: Any) -> None:
    reply, _, _ = timing("update", "captured")
    assert isinstance(reply, TimeReply), reply
    assert samples(reply.forms[0])["run"].seconds
    assert reply.forms[0].output_bytes is not None


def test_an_alarm_of_constant_folding_is_a_sentence(timing: Any) -> None:
    reply, _, printed = timing("folded", "captured", "hoisted", seconds=0.01)
    captured, hoisted = reply.forms
    assert hoisted.alarms == ()
    if "Constant folding an instruction" not in printed:
        pytest.skip("this machine folds a sort of 20,000 in under a second")
    assert captured.alarms[0].startswith("Folding sort of a constant while compiling took ")
    assert captured.alarms[0].endswith(" s (program.py:27).")
    compiles = [samples(cost)["compile"].seconds[0] for cost in reply.forms]
    assert compiles[0] > max(1, compiles[1])


def test_a_callback_cannot_write_files(timing: Any) -> None:
    reply, _, _ = timing("calls_back")
    assert isinstance(reply, Failure)
    assert "write" in reply.message or "write" in reply.traceback


def test_a_failure_while_running(timing: Any) -> None:
    reply, _, _ = timing("fails")
    assert isinstance(reply, Failure)
    assert "gone" in reply.message + reply.traceback


def test_the_worker_goes_on(timing: Any) -> None:
    reply, _, _ = timing("project", "hoisted")
    assert [cost.form for cost in reply.forms] == ["hoisted"]


def test_memory_while_compiling(tmp_path: Path) -> None:
    program = """\
    import jax, jax.numpy as jnp, numpy as np
    W = np.random.default_rng(0).random((64, 1 << 18), np.float32)
    f = jax.jit(lambda x: jnp.tanh(x) @ W)
    def run():
        f.trace(jnp.ones(64))
    """
    project = write(tmp_path, {"program.py": program})
    with Worker(project) as worker:
        traced = worker.request(request(project, entries=("run",)))
        reply = worker.request(TimeRequest(traced.functions[0].id, ("captured", "hoisted"), 0.01))
    captured, hoisted = reply.forms
    if captured.host_peak_bytes is None:
        pytest.skip("this system does not tell peak memory")
    assert captured.host_peak_bytes > 64 << 20 > hoisted.host_peak_bytes
    assert hoisted.argument_bytes > 64 << 20


def test_stderr_is_heard_and_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    with measuring.listening() as heard:
        os.write(2, b"from native code\n")
    os.write(2, b"after\n")
    assert heard.text == "from native code\n"
    assert capfd.readouterr().err == "from native code\nafter\n"


def test_peak_memory_sees_what_was_freed_again() -> None:
    with measuring.peak_memory() as peak:
        bytearray(64 << 20)
    if peak.bytes is None:
        pytest.skip("this system does not tell peak memory")
    assert 60 << 20 < peak.bytes < 80 << 20


ALARM = """\
E0000 slow_operation_alarm.cc:73] Constant folding an instruction is taking > 2s:

  %reduce-window.3 = f32[9]{0} reduce-window(%constant.7), metadata={op_name="jit(f)/cumsum[axis=0]" stack_frame_id=3}

This isn't necessarily a bug.
E0000 slow_operation_alarm.cc:140] The operation took 1m7.5s
Constant folding an instruction is taking > 2s:

  %reduce-window.3 = f32[9]{0} reduce-window(%constant.7), metadata={op_name="jit(f)/cumsum[axis=0]" stack_frame_id=3}

E0000 slow_operation_alarm.cc:73] Constant folding an instruction is taking > 1s:

  %dot.1 = (f32[9]{0}, s32[]) custom-call(%constant.7), custom_call_target="x", source_file="/a/case.py" source_line=4
"""


def test_alarms_of_every_form() -> None:
    assert executable.alarms(ALARM, {3: ("/a/b/case.py", 12)}) == (
        "Folding cumsum of a constant while compiling took 67.5 s (case.py:12).",
        "Folding custom-call of a constant while compiling took over 1 s (case.py:4).",
    )
    assert executable.alarms("nothing of the kind", {}) == ()
