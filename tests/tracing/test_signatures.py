"""Signatures from comments and annotations, and where files belong."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.config import Config, with_values
from jaxscope.semantics.project import Project
from jaxscope.tracing.annotations import array_type
from jaxscope.tracing.locations import import_name, project_root
from jaxscope.tracing.planning import entry_names, plan
from jaxscope.worker.jaxscope_worker.wire.messages import TraceRequest


def planned(folder: Path, text: str, name: str = "case.py", **more: object) -> TraceRequest:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    project = Project(str(folder))
    model = project.model(str(path))
    assert model is not None
    return plan(model, project, Config(), **more)  # type: ignore[arg-type]


def declared(request: TraceRequest) -> list[tuple[str, str, str, str]]:
    return [(item.function, item.signature, item.source, item.origin) for item in request.declared]


def test_a_comment_above_the_decorators_declares(tmp_path: Path) -> None:
    text = """import jax

# Projects.
# jaxscope: f32[3,700], key
@jax.jit
def f(x, key):
    return x

@jax.jit
# jaxscope: {w: f32[8,8], b: f32[8]}
#jaxscope:  i32[]
def g(p):
    return p

class C:
    # jaxscope: f32[2]
    def m(self, x): return x

# jaxscope: ignore[captured-array]
# jaxscope: ignore-file[retrace]
def h(x): return x

# jaxscope: f32[1]

def apart(x): return x
"""
    assert declared(planned(tmp_path, text)) == [
        ("f", "f32[3,700], key", "declared", "case.py:4"),
        ("g", "{w: f32[8,8], b: f32[8]}", "declared", "case.py:10"),
        ("g", "i32[]", "declared", "case.py:11"),
        ("C.m", "f32[2]", "declared", "case.py:16"),
    ]


def test_args_go_before_comments_of_the_same_function(tmp_path: Path) -> None:
    text = "# jaxscope: f32[1]\ndef f(x): return x\n\n# jaxscope: f32[2]\ndef g(x): return x\n"
    request = planned(tmp_path, text, function="f", args="f32[9]")
    assert declared(request) == [("f", "f32[9]", "declared", "--args"), ("g", "f32[2]", "declared", "case.py:4")]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ('Float[Array, "batch d"]', "f32[batch,5]"),
        ('jt.Float[jax.Array, "3 d"]', "f32[3,5]"),
        ("\"Int[Array, 'batch']\"", "i32[batch]"),
        ('Int8[Array, ""]', "i8[]"),
        ('BFloat16[Array, "d-1 2*d d//2 d+batch"]', "bf16[4,10,2,13]"),
        ('Bool[Array, "... d"]', "bool[5]"),
        ('Complex[Array, "*b #d ?n _"]', "c64[5,n,8]"),
        ('Float[Array, "rows=4 d"]', "f32[4,5]"),
        ('Float[Array, "d"] | None', "f32[5]"),
        ('Optional[Float[Array, "d"]]', "f32[5]"),
        ('Key[Array, ""]', "key"),
        ("PRNGKeyArray", "key"),
        ("Scalar", "f32[]"),
        ("jax.Array", None),
        ("int", "int"),
        ("", None),
        ('Float[Array, "f(x)"]', None),
        ("not python", None),
    ],
)
def test_annotations_as_types(annotation: str, expected: str | None) -> None:
    assert array_type(annotation, {"d": 5}) == expected


SIZES = """from functools import partial
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

W = jnp.zeros((700, 30))
BIAS: Float[Array, "k"] = jnp.zeros(12)

@jax.jit
def product(x: Float[Array, "batch d"]):
    return x @ W

@jax.jit
def turned(x: Float[Array, "n b"]):
    return jnp.dot(W, x)

@jax.jit
def added(x: Float[Array, "batch d"], y: Float[Array, "k"]):
    return x + W[0]

@jax.jit
def default(x: Float[Array, "batch d"], scale=2.0, *, flag=False):
    return x * scale

@jax.jit
def random(key: Key[Array, ""], x: Float[Array, "d"]):
    return x

@jax.jit
def unknown(x: Float[Array, "d"], n):
    return x

# jaxscope: f32[1,1]
@jax.jit
def better(x: Float[Array, "a b"]):
    return x

def untraced(x: Float[Array, "a b"]):
    return x

@jax.jit
def computed(x: Float[Array, "n m"], y: Float[Array, "2*n m"], z: Float[Array, "n ..."]):
    return x

@jax.jit
def tree(params: PyTree[Float[Array, "..."]], x: Float[Array, "3 4"]):
    return jax.tree.map(jnp.sum, params), x

@partial(jax.jit, static_argnames=("n",))
def numbers(x: Float[Array, "m"], lr: float, n: int = 3):
    return x

@partial(jax.jit, static_argnames=("n",))
def static(x: Float[Array, "m"], n: int):
    return x

class Model:
    @partial(jax.jit, static_argnums=0)
    def forward(self, x: Float[Array, "m"]):
        return x
"""


def test_dimension_names_are_bound_by_captured_arrays(tmp_path: Path) -> None:
    declared = [item for item in planned(tmp_path, SIZES).declared if item.source != "guess"]
    found = {item.function: (item.signature, item.source) for item in declared}
    assert found == {
        "better": ("f32[1,1]", "declared"),
        "product": ("f32[batch,700]", "annotation"),
        "turned": ("f32[30,b]", "annotation"),
        "added": ("f32[batch,30], f32[12]", "annotation"),
        "default": ("f32[batch,d]", "annotation"),
        "random": ("key, f32[d]", "annotation"),
        "computed": ("f32[8,m], f32[16,m], f32[8]", "annotation"),
        "numbers": ("f32[m], float", "annotation"),
        "Model.forward": ("f32[m]", "annotation"),
    }


def test_entries_that_the_file_lacks_are_left_out(tmp_path: Path) -> None:
    text = "from other import run\ndef main(): pass\nstart = main\nclass C:\n    def m(self): pass\n"
    request = planned(tmp_path, text, entries=("main", "run", "start", "C.m", "absent"))
    assert request.entries == ("main", "run", "start", "C.m")
    project = Project(str(tmp_path))
    model = project.model(str(tmp_path / "case.py"))
    assert model is not None and "absent" not in entry_names(model)


def test_files_are_imported_by_the_name_that_others_use(tmp_path: Path) -> None:
    for folder in ("src/pkg", "src/pkg/inner", "scripts"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("src/pkg", "src/pkg/inner"):
        (tmp_path / folder / "__init__.py").touch()
    top = str(tmp_path / "src")
    assert import_name(str(tmp_path / "src/pkg/inner/a.py")) == (top, "pkg.inner.a")
    assert import_name(str(tmp_path / "src/pkg/__init__.py")) == (top, "pkg")
    assert import_name(str(tmp_path / "scripts/my-run.2.py")) == (str(tmp_path / "scripts"), "my_run_2")
    assert import_name(str(tmp_path / "src/pkg/__main__.py")) == (top, "pkg.main_module")


def test_a_folder_is_a_package_if_a_relative_import_says_so(tmp_path: Path) -> None:
    (tmp_path / "pkg/inner/deep").mkdir(parents=True)
    (tmp_path / "pkg/__init__.py").touch()
    for name, text, module in (
        ("inner/a.py", "from . import b\n", "pkg.inner.a"),
        ("inner/c.py", "def f():\n    from ..b import (\n        x,\n    )\n", "pkg.inner.c"),
        ("inner/deep/d.py", "from .. import b\n", "pkg.inner.deep.d"),
        ("inner/script.py", "import b  # from . import b\nfrom b import c\n", "script"),
    ):
        path = tmp_path / "pkg" / name
        path.write_text(text)
        folder = path.parent if module == "script" else tmp_path
        assert import_name(str(path)) == (str(folder), module)


def test_the_request_names_the_project_and_the_packages_folder(tmp_path: Path) -> None:
    (tmp_path / "src/pkg").mkdir(parents=True)
    (tmp_path / "src/pkg/__init__.py").touch()
    request = planned(tmp_path, "def f(): pass\n", "src/pkg/a.py")
    assert (request.root, request.paths, request.module) == (str(tmp_path), (str(tmp_path / "src"),), "pkg.a")
    assert planned(tmp_path, "def f(): pass\n").paths == ()


def test_settings_and_texts_travel(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    project = Project(str(tmp_path))
    model = project.model(str(tmp_path / "a.py"))
    assert model is not None
    config = with_values(Config(), {"trace": {"allowSideEffects": ["write"]}})
    request = plan(model, project, config, text="x = 2\n", overlay={"b.py": ""})
    assert (request.allow_side_effects, request.text, request.overlay) == (("write",), "x = 2\n", {"b.py": ""})


def test_the_projects_root(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "a/b").mkdir(parents=True)
    assert project_root(str(tmp_path / "a/b/c.py")) == str(tmp_path)
