"""Starting, measuring and killing worker processes: the one file with calls that differ between platforms.

Memory is limited by watching, not by `setrlimit`. JAX, BLAS and accelerator drivers reserve address space and thread
stacks by the gigabyte without using them, so a limit on address space or data segment kills healthy programs on large
machines; what is watched here is memory in use that belongs to the process alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping

import jaxscope
from jaxscope.worker.jaxscope_worker.wire.recording import RUN_VARIABLE

PACKAGE = os.path.dirname(os.path.abspath(jaxscope.__file__))
WORKER = os.path.join(PACKAGE, "worker", "jaxscope_worker", "__main__.py")

MEMORY_POLL_SECONDS = 0.05 if sys.platform == "linux" else 0.5
"""How often `memory_in_use` may be asked; elsewhere than on Linux each asking starts a process."""

# Would make the worker another interpreter, wait for a person, look for its library elsewhere, or record it.
_DROPPED = (
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONEXECUTABLE",
    "PYTHONPLATLIBDIR",
    "__PYVENV_LAUNCHER__",
    RUN_VARIABLE,
)


_DEVICE_COUNT = re.compile(r"--xla_force_host_platform_device_count=\S*\s*")


def environment(
    platform: str, extra: Mapping[str, str], base: Mapping[str, str] | None = None, *, devices: int = 0
) -> dict[str, str]:
    """Environment of a worker whose JAX may use `platform`: `cpu`, `gpu`, `tpu`, or `default` for JAX's own choice.

    The user's variables are kept, `extra` is laid over them; with `devices` so many CPU devices are simulated. Our own
    package is taken out of `PYTHONPATH`, lest the user's interpreter sees it.
    """
    env = {key: value for key, value in (os.environ if base is None else base).items() if key not in _DROPPED}
    env.update(extra)
    paths = [entry for entry in env.pop("PYTHONPATH", "").split(os.pathsep) if entry and not _is_ours(entry)]
    if paths:
        env["PYTHONPATH"] = os.pathsep.join(paths)
    env["PYTHONBREAKPOINT"] = "0"
    env["PYTHONIOENCODING"] = "utf-8:backslashreplace"
    if devices:
        flags = _DEVICE_COUNT.sub("", env.get("XLA_FLAGS", ""))
        env["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={devices}".strip()
    if platform == "cpu":
        env["JAX_PLATFORMS"] = "cpu"
    else:
        env.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if platform != "default":
            env["JAX_PLATFORMS"] = platform
    return env


def _is_ours(entry: str) -> bool:
    return os.path.realpath(entry) == os.path.realpath(os.path.dirname(PACKAGE))


def start(interpreter: str, env: Mapping[str, str], cwd: str) -> subprocess.Popen[bytes]:
    """Starts a worker in a process group of its own. Raises OSError when the interpreter cannot be run."""
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
    return subprocess.Popen(
        [interpreter, "-X", "faulthandler", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd=cwd,
        start_new_session=os.name == "posix",
        creationflags=flags,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the worker and what it started. Does nothing once the worker's end was noticed: its id may be another's."""
    if process.returncode is None:
        sweep(process)


def sweep(process: subprocess.Popen[bytes]) -> None:
    """Kills what the worker started, also when it has just ended itself."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def memory_in_use(pid: int) -> int | None:
    """Bytes of memory that the process holds for itself; None where that cannot be known."""
    if sys.platform == "linux":
        return _linux_memory(pid)
    if sys.platform == "win32":
        return _windows_memory(pid)
    return _ps_memory(pid)


def _linux_memory(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            _, resident, shared, *_ = statm.read().split()
    except (OSError, ValueError):
        return None
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _ps_memory(pid: int) -> int | None:
    answer = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    figure = answer.stdout.strip()
    return int(figure) * 1024 if figure.isdigit() else None


def _windows_memory(pid: int) -> int | None:
    query = ["tasklist", "/FI", f"PID eq {pid}", "/FO", "CSV", "/NH"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    digits = "".join(char for char in answer.rsplit('","', 1)[-1] if char.isdigit())
    return int(digits) * 1024 if digits else None
