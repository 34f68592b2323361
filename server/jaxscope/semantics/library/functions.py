"""What calls of array functions give, by the function's name."""

from __future__ import annotations

from jaxscope.semantics.evaluation.arrays import (
    Call,
    Handler,
)
from jaxscope.semantics.evaluation.dtypes import from_value
from jaxscope.semantics.evaluation.values import Const, Value
from jaxscope.semantics.library import making as library_making
from jaxscope.semantics.library import math as library_math
from jaxscope.semantics.library import moving as library_moving
from jaxscope.semantics.library.table import TABLE, first_array
from jaxscope.semantics.vocabulary import words

_FILLED = (library_making, library_math, library_moving)
"""They fill the table when they are imported."""


def array_function(name: str) -> Handler | None:
    """The handler of `numpy.NAME` or `jax.numpy.NAME`."""
    return TABLE.get(name)


_SCALAR_TYPES = words(
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128 bool_ "
    "bfloat16 single double half float_ int_ intp"
)


def dtype_call(name: str, call: Call) -> Value | None:
    """`np.float32(x)`: None when the name is no dtype."""
    if name not in _SCALAR_TYPES:
        return None
    array = first_array(call)
    dtype = from_value(Const(name))
    return call.array(array.shape if array else (), dtype)
