"""What JAX itself captures: runs programs in one process while JAX dumps every module that it lowers, and reads the
large constants in those texts. Nothing of jaxscope takes part.

`python lowering.py BYTES FOLDER...` runs `main()` of each folder's `case.py`; a text that it returns is read too (an
exported module is not dumped). Prints `{FOLDER: [[shape, dtype], ...]}`, constants that repeat one value left out.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
from pathlib import Path

import jax

_CONSTANT = re.compile(r"stablehlo\.constant dense<\"0x[^>]*> : tensor<((?:\d+x)+)(\w+)>")
_DTYPES = {"f32": ("float32", 4), "f64": ("float64", 8), "i32": ("int32", 4), "f16": ("float16", 2)}


def captured(folder: Path, least: int) -> list[object]:
    """Shapes and dtypes of the constants of at least `least` bytes that the program in `folder` is lowered with."""
    sys.path.insert(0, str(folder))
    jax.config.update("jax_dump_ir_to", str(folder / "lowered"))
    jax.clear_caches()
    texts = [importlib.import_module("case").main()]
    sys.path.remove(str(folder))
    del sys.modules["case"]
    texts += [path.read_text() for path in (folder / "lowered").rglob("*.mlir")]
    found = set()
    for sides, element in _CONSTANT.findall("\n".join(text for text in texts if isinstance(text, str))):
        shape = tuple(int(side) for side in sides.split("x")[:-1])
        dtype, size = _DTYPES.get(element, ("", 0))
        if math.prod(shape) * size >= least:
            found.add((shape, dtype))
    return sorted(found)


if __name__ == "__main__":
    print(json.dumps({folder: captured(Path(folder), int(sys.argv[1])) for folder in sys.argv[2:]}))
