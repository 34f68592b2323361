"""The invariants of ARCHITECTURE.md that can be read off the source or off a fresh interpreter."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"
WORKER = SERVER / "jaxscope/worker/jaxscope_worker"
FILE_LIMIT, FUNCTION_LIMIT = 600, 60
GENERATED = "generated"


def sources() -> list[Path]:
    folders = [(SERVER, "*.py"), (ROOT / "tests", "*.py"), (ROOT / "client", "*.ts"), (ROOT / "scripts", "*.*")]
    found = [path for folder, pattern in folders for path in folder.rglob(pattern)]
    return [
        p
        for p in found
        if p.suffix in (".py", ".ts", ".mjs") and GENERATED not in p.name and "node_modules" not in p.parts
    ]


def test_imports_go_one_way() -> None:
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_import_check_can_fail(tmp_path: Path) -> None:
    """An import in the wrong direction is told: the contract is not vacuous."""
    package = tmp_path / "jaxscope"
    for folder in (SERVER / "jaxscope").rglob("__init__.py"):
        copy = package / folder.relative_to(SERVER / "jaxscope")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    for name in ("loop", "channel", "guard", "jax_compat"):
        (package / f"worker/jaxscope_worker/{name}.py").touch()
    (package / "text/bad.py").write_text("import jaxscope.rules\n")
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [tool, "--no-cache"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "jaxscope.text.bad -> jaxscope.rules" in done.stdout


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("module", ["jaxscope.lsp.server", "jaxscope.cli.main", "jaxscope.workers.pool"])
def test_server_and_cli_never_import_jax(module: str) -> None:
    assert not loaded_after(f"import {module}") & {"jax", "jaxlib", "numpy"}


def cli_modules() -> str:
    names = [
        p.relative_to(SERVER).with_suffix("").as_posix().replace("/", ".")
        for p in (SERVER / "jaxscope/cli").glob("*.py")
    ]
    return ", ".join(name.removesuffix(".__init__") for name in names if not name.endswith("__main__"))


def test_cli_never_imports_pygls() -> None:
    assert not loaded_after(f"import {cli_modules()}") & {"pygls", "lsprotocol"}


def test_the_cold_import_check_can_fail() -> None:
    assert "pygls" in loaded_after("import jaxscope.lsp.server")


def test_worker_uses_the_standard_library_and_the_users_packages_only() -> None:
    allowed = {*sys.stdlib_module_names, "jax", "jaxlib", "numpy", WORKER.name}
    for path in WORKER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            foreign = [name for name in names if name.split(".")[0] not in allowed]
            assert not foreign, f"{path.relative_to(ROOT)} imports {foreign}"


def test_worker_keeps_to_the_oldest_python() -> None:
    for path in WORKER.rglob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 10))


def test_jax_internals_are_touched_in_one_file() -> None:
    touching = {p.name for p in WORKER.rglob("*.py") if any("jax._src" in name for name in imported(p))}
    assert touching <= {"jax_compat.py"}


def imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("jax._src"):
            names.append(node.value)
    return names


def test_no_module_imports_a_rule_by_name() -> None:
    rules = {f"jaxscope.rules.{p.stem}" for p in (SERVER / "jaxscope/rules").glob("*.py")} - {
        "jaxscope.rules.__init__",
        "jaxscope.rules.base",
        "jaxscope.rules.finding",
    }
    for path in SERVER.rglob("*.py"):
        if path.parent.name != "rules":
            named = rules & set(imported(path))
            assert not named, f"{path.relative_to(ROOT)} imports {named}"


def test_files_and_functions_keep_their_limits() -> None:
    too_long = []
    for path in sources():
        text = path.read_text()
        if text.count("\n") > FILE_LIMIT:
            too_long.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
        if path.suffix == ".py":
            too_long += [
                f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
                for node in ast.walk(ast.parse(text))
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                and node.end_lineno
                and node.end_lineno - node.lineno + 1 > FUNCTION_LIMIT
            ]
    assert not too_long


def test_every_server_module_says_why_it_exists() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in SERVER.rglob("*.py")
        if (text := path.read_text()).strip() and not ast.get_docstring(ast.parse(text))
    ]
    assert not silent
