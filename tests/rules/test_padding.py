"""The explained ways out of differing lengths do what they say, and stand in the hover of each finding about shapes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from jaxscope.config import Config
from jaxscope.ide.hover import Style, hover
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.rules.padding import PADDING, padding

HEAD = "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef total(x):\n    return x.sum()\n\n\n"
PROGRAMS = {
    "length": "for n in range(3, 9):\n    total(jnp.ones(n))\n",
    "grows": "x = jnp.zeros(0)\nfor _ in range(9):\n    x = jnp.append(x, 1.0)\n    total(x)\n",
    "last batch": "data = jnp.ones((10, 3))\nfor i in range(0, len(data), 4):\n    total(data[i : i + 4])\n",
}


def padded(cause: Literal["length", "grows", "last batch"], x: Any, size: int = 0) -> tuple[Any, Any]:
    """The array and the mask that the code in the text gives."""
    (code,) = re.findall(r"```python\n(.*?)```", padding(cause), re.DOTALL)
    names = {"x": x, "size": size, "jnp": np}
    exec(code, names)
    return names["x"], names["mask"]


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("cause", ["length", "grows"])
def test_few_lengths(cause: Literal["length", "grows"], rank: int) -> None:
    found = {}
    for length in range(1, 1001):
        x = np.full((length,) + (2,) * (rank - 1), 3.0)
        longer, mask = padded(cause, x)
        assert longer.shape[1:] == x.shape[1:]
        assert longer[mask].tolist() == x.tolist()
        assert (len(longer), mask.sum()) == (len(mask), length)
        found[len(longer)] = True
    assert f"to {len(found)} traces at most" in padding(cause)


def test_one_length_for_the_last_batch() -> None:
    for length in (1, 5, 8):
        x = np.arange(length * 2.0).reshape(length, 2)
        longer, mask = padded("last batch", x, 8)
        assert longer.shape == (8, 2)
        assert longer[mask].tolist() == x.tolist()


@pytest.mark.parametrize("cause", ["length", "grows", "last batch"])
def test_the_hover_explains(cause: Literal["length", "grows", "last batch"], tmp_path: Path) -> None:
    path = tmp_path / "case.py"
    path.write_text(HEAD + PROGRAMS[cause])
    workspace = Workspace(str(tmp_path), Config())
    (finding,) = [one for one in workspace.findings(str(path)) if one.rule == "retrace"]
    assert (finding.refused, finding.fixes) == (PADDING, ())
    shown = hover(workspace, str(path), finding.range.start, Situation(), Style(lambda title, link: "", False))
    assert shown is not None
    assert padding(cause) in shown.markdown
    assert "Inferred from the source." in shown.markdown
