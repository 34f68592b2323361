"""After the fix no two calls, and no two draws of one call, get the same numbers, and each has its distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jaxscope.config import Config
from jaxscope.ide import fix
from jaxscope.refactor.change import Refusal
from jaxscope.rules.base import Context
from jaxscope.rules.side_effect import RULE
from jaxscope.semantics.project import Project

HEAD = """import random

import jax
import jax.numpy as jnp
import numpy as np

N = 2000


"""
DRAWN = """@jax.jit
def f(x):
    return x + {call}


def main():
    return f(jnp.zeros(N)), f(jnp.zeros(N))
"""
DISTRIBUTIONS = {
    "np.random.normal(3.0, 2.0, size=N)": (3.0, 2.0),
    "np.random.normal(scale=2 + 1, size=x.shape)": (0.0, 3.0),
    "2 * np.random.normal(1.0, 0.5, x.shape)": (2.0, 1.0),
    "np.random.standard_normal(x.size)": (0.0, 1.0),
    "np.random.randn(N)": (0.0, 1.0),
    "np.random.uniform(-1, 3, (N,))": (1.0, 1.155),
    "np.random.rand(N)": (0.5, 0.289),
    "np.random.random(x.shape[0])": (0.5, 0.289),
    "np.random.exponential(2.0, size=x.shape)": (2.0, 2.0),
    "np.random.laplace(1.0, size=x.shape[:1])": (1.0, 1.414),
    "np.random.randint(0, 10, size=len(x))": (4.5, 2.872),
    "np.random.randint(11, size=[N])": (5.0, 3.162),
    "np.random.permutation(N)": (999.5, 577.35),
}
PLACES = {
    "a loop": """@jax.jit
def f(x):
    return x + np.random.normal()


def main():
    found = []
    for _ in range(4):
        found.append(f(0.0))
    return [*found, f(0.0)]
""",
    "a helper called twice, and a loop in traced code": """def noise():
    return np.random.normal()


@jax.jit
def f(x):
    found = [x + noise(), x + noise(), x + random.gauss(0, 1)]
    for _ in range(3):
        found.append(x + noise())
    return found


def main():
    first = f(0.0)
    return [*first, *f(0.0)]


if __name__ == "__main__":
    main()
""",
    "called by another compiled function": """@jax.jit
def inner(x):
    return x + np.random.normal()


@jax.jit
def f(x):
    return inner(x), inner(x) + np.random.normal()


def main():
    return [*f(0.0), *f(0.0)]
""",
    "a function inside of the compiled one": """@jax.jit
def f(x):
    def inner():
        return np.random.normal()

    return [x + inner(), x + inner()]


def main():
    return f(1.0)
""",
    "a helper of two compiled functions": """def noise():
    return np.random.normal()


@jax.jit
def f(x):
    return x + noise()


@jax.jit
def g(x):
    return x + noise()


def main():
    return f(1.0), g(1.0), noise() + f(1.0)
""",
    "in branches": """@jax.jit
def f(x, key):
    return x + np.random.normal()


def main():
    found = []
    for step in range(4):
        if step % 2:
            found += [f(0.0, 1), f(0.0, 2)]
        else:
            found.append(f(0.0, 1))
    return found
""",
}
REFUSED = {
    "a method that may run again": """class Model:
    def step(self, x):
        return f(x)


@jax.jit
def f(x):
    return x + np.random.normal()
""",
    "a comprehension": """@jax.jit
def f(x):
    return x + np.random.normal()


def main():
    return [f(x) for x in jnp.ones(3)]
""",
    "a list of draws": """@jax.jit
def f(x):
    return x + jnp.stack([np.random.normal() for _ in range(3)])


def main():
    return f(1.0)
""",
    "a function that is called twice": """@jax.jit
def f(x):
    return x + np.random.normal()


def once(x):
    return f(x)


def main():
    return once(1.0), once(2.0)
""",
    "in the test of a loop": """@jax.jit
def f(x):
    return x + np.random.normal()


def main():
    while f(1.0) > 0.5:
        pass
    return f(1.0)
""",
    "in a function that is mapped": """@jax.jit
def f(x):
    return jax.lax.map(lambda y: y + np.random.normal(), x)


def main():
    return f(jnp.ones(3))
""",
    "a count of rounds": """@jax.jit
def f(x):
    for _ in range(np.random.randint(1, 3)):
        x = x + 1
    return x


def main():
    return f(1.0)
""",
    "shuffled in place": """@jax.jit
def f(x):
    order = np.arange(3)
    np.random.shuffle(order)
    return x[order]


def main():
    return f(jnp.ones(3))
""",
}


def _planned(text: str, folder: Path) -> Any:
    path = folder / "case.py"
    path.write_text(text)
    project = Project(str(folder))
    model = project.model(str(path))
    assert model is not None
    found = [one for one in RULE.static(model, Context(Config(), project)) if "is drawn" in one.message]
    assert found
    return fix.prepare_apart(str(folder), {}, found[0])


def _ran(text: str) -> Any:
    import jax

    space: dict[str, Any] = {"__name__": "case"}
    exec(compile(text, "case.py", "exec"), space)
    return jax.device_get(space["main"]())


def _left(text: str, folder: Path) -> list[str]:
    """What is still drawn while functions are traced."""
    (folder / "case.py").write_text(text)
    project = Project(str(folder))
    model = project.model(str(folder / "case.py"))
    assert model is not None
    return [one.name for one in RULE.static(model, Context(Config(), project)) if "is drawn" in one.message]


@pytest.mark.jax
@pytest.mark.parametrize("call", DISTRIBUTIONS)
def test_draws_of_the_same_distribution(call: str, tmp_path: Path) -> None:
    change = _planned(HEAD + DRAWN.format(call=call), tmp_path)
    assert not isinstance(change, Refusal), change
    after = change.files[0].changed
    one, other = _ran(after)
    before = _ran(HEAD + DRAWN.format(call=call))[0]
    mean, deviation = DISTRIBUTIONS[call]
    assert (one.shape, one.dtype) == (before.shape, before.dtype)
    assert (one != other).any()
    for drawn in (one, other, before):
        assert drawn.mean() == pytest.approx(mean, abs=deviation / 8)
        assert drawn.std() == pytest.approx(deviation, rel=0.15)
    assert not _left(after, tmp_path)


@pytest.mark.jax
@pytest.mark.parametrize("place", PLACES)
def test_no_two_draws_are_alike(place: str, tmp_path: Path) -> None:
    change = _planned(HEAD + PLACES[place], tmp_path)
    assert not isinstance(change, Refusal), change
    after = change.files[0].changed
    found = [float(one) for one in _ran(after)]
    assert len({round(one, 5) for one in found}) == len(found)
    assert not _left(after, tmp_path)


@pytest.mark.parametrize("place", REFUSED)
def test_nothing_is_planned(place: str, tmp_path: Path) -> None:
    assert isinstance(_planned(HEAD + REFUSED[place], tmp_path), Refusal)


def test_it_is_asked_for(tmp_path: Path) -> None:
    """It is never made without asking, since the results become others."""
    (tmp_path / "case.py").write_text(HEAD + DRAWN.format(call="np.random.rand(N)"))
    model = Project(str(tmp_path)).model(str(tmp_path / "case.py"))
    assert model is not None
    offers = [offer for one in RULE.static(model, Context(Config(), model.project)) for offer in one.fixes]
    assert [(offer.kind, offer.safety) for offer in offers] == [("random-key", "unsafe")]
