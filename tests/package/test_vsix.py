"""The packed extension: what is in it, and that its server runs in a Python that has JAX and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import pytest

ROOT = Path(__file__).parents[2]
JAX_PARTS = ("jax", "jaxlib", "numpy", "numpy.libs", "scipy", "scipy.libs", "ml_dtypes", "opt_einsum")
DEADLINE = 60.0
"""Seconds after which a server that says nothing more is ended."""
SOURCE = """\
import jax
import jax.numpy as jnp

W = jnp.ones((700, 700), jnp.float32)


# jaxscope: f32[3,700]
@jax.jit
def project(x):
    return x @ W
"""


@pytest.fixture(scope="session")
def vsix() -> zipfile.ZipFile:
    named = os.environ.get("JAXSCOPE_VSIX")
    version = json.loads((ROOT / "package.json").read_text())["version"]
    path = Path(named) if named else ROOT / f"jaxscope-{version}.vsix"
    if not path.exists():
        pytest.skip(f"there is no {path.name}: npm run package makes it")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="session")
def names(vsix: zipfile.ZipFile) -> list[str]:
    return [name.removeprefix("extension/") for name in vsix.namelist() if name.startswith("extension/")]


def test_what_the_manifest_names_is_there(vsix: zipfile.ZipFile, names: list[str]) -> None:
    manifest = json.loads(vsix.read("extension/package.json"))
    assert str(PurePosixPath(manifest["main"])) in names
    assert {"dist/webview.js", "dist/webview.css", "bundled/run_jaxscope.py", "bundled/jaxscope/cli/main.py"} <= set(
        names
    )
    assert not {"scripts", "devDependencies", "dependencies", "private"} & set(manifest)
    assert {name.lower() for name in names} & {"license.txt", "license", "license.md"}


def test_the_worker_is_complete(names: list[str]) -> None:
    worker = "server/jaxscope/worker"
    wanted = {path.relative_to(ROOT / "server").as_posix() for path in (ROOT / worker).rglob("*.py")}
    assert wanted and {f"bundled/{name}" for name in wanted} <= set(names)


def test_nothing_is_shipped_that_only_a_checkout_needs(names: list[str]) -> None:
    unwanted = [
        name
        for name in names
        if "__pycache__" in name
        or name.endswith((".pyc", ".so", ".pyd", ".ts", ".map"))
        or name.startswith(("node_modules/", "tests/", "client/", "bundled/bin/", "bundled/jax/", "bundled/numpy/"))
    ]
    assert unwanted == []


def test_the_package_is_small(vsix: zipfile.ZipFile) -> None:
    assert Path(str(vsix.filename)).stat().st_size < 4 << 20


def test_every_bundled_dependency_is_pure_python(vsix: zipfile.ZipFile, names: list[str]) -> None:
    wheels = [name for name in names if name.startswith("bundled/") and name.endswith(".dist-info/WHEEL")]
    assert wheels
    for name in wheels:
        assert "Root-Is-Purelib: true" in vsix.read(f"extension/{name}").decode(), name


@pytest.fixture(scope="session")
def bundle(vsix: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vsix")
    vsix.extractall(folder)
    return folder / "extension" / "bundled"


@pytest.fixture(scope="session")
def only_jax(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has JAX and what JAX needs, and nothing that the server needs."""
    folder = tmp_path_factory.mktemp("only-jax")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    site = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    jax = pytest.importorskip("jax")
    installed = Path(jax.__file__).parents[1]
    for part in (*JAX_PARTS, *(path.name for path in installed.glob("jax*.dist-info"))):
        if (installed / part).exists():
            (Path(site) / part).symlink_to(installed / part)
    return python


class Server:
    """Just enough of a client to talk to the bundled server."""

    def __init__(self, command: list[str], folder: Path, state: Path) -> None:
        env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=env | {"XDG_STATE_HOME": str(state)},
        )
        assert self.process.stdin and self.process.stdout
        self.watchdog = threading.Timer(DEADLINE, self.process.kill)
        self.watchdog.start()
        self.input: BinaryIO = self.process.stdin  # type: ignore[assignment]
        self.output: BinaryIO = self.process.stdout  # type: ignore[assignment]

    def send(self, method: str, params: Any, request: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if request is None else {"id": request})
        self.write(message)

    def write(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self.input.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.input.flush()

    def read(self) -> dict[str, Any]:
        length = 0
        while (line := self.output.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if not length:
            assert self.process.stderr
            raise AssertionError(f"the server ended: {self.process.stderr.read().decode()}")
        message: dict[str, Any] = json.loads(self.output.read(length))
        if "id" in message and "method" in message:
            self.write({"jsonrpc": "2.0", "id": message["id"], "result": None})
        return message

    def diagnostics(self, wanted: str) -> str:
        """Message of the first diagnostic that has this text."""
        for _ in range(500):
            message = self.read()
            if message.get("method") == "textDocument/publishDiagnostics":
                for diagnostic in message["params"]["diagnostics"]:
                    if wanted in diagnostic["message"]:
                        return str(diagnostic["message"])
        raise AssertionError(f"no diagnostic with {wanted!r}")

    def end(self) -> int:
        self.send("shutdown", None, request=99)
        while self.read().get("id") != 99:
            pass
        self.send("exit", None)
        return self.process.wait(20)

    def kill(self) -> None:
        self.watchdog.cancel()
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize(
    ("trusted", "wanted"), [(False, "(inferred)"), (True, "`W` (float32[700,700], 1.9 MiB) is compiled into `project`")]
)
def test_the_bundled_server_runs_where_only_jax_is(
    bundle: Path, only_jax: Path, tmp_path: Path, trusted: bool, wanted: str
) -> None:
    source = tmp_path / "case.py"
    source.write_text(SOURCE)
    server = Server([str(only_jax), str(bundle / "run_jaxscope.py"), "serve"], tmp_path, tmp_path / "state")
    options: dict[str, Any] = {"trusted": trusted, "interpreter": str(only_jax)}
    if trusted:
        options["trace"] = {"when": "onSave"}
    folder = {"uri": tmp_path.as_uri(), "name": "case"}
    server.send(
        "initialize",
        {
            "processId": os.getpid(),
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": {},
            "initializationOptions": options,
        },
        request=1,
    )
    while server.read().get("id") != 1:
        pass
    server.send("initialized", {})
    document = {"uri": source.as_uri(), "languageId": "python", "version": 1, "text": SOURCE}
    server.send("textDocument/didOpen", {"textDocument": document})
    try:
        assert "`W`" in server.diagnostics(wanted)
        assert server.end() == 0
    finally:
        server.kill()
