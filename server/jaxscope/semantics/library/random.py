"""Random numbers: NumPy's generators and `jax.random`."""

from __future__ import annotations

from jaxscope.semantics.evaluation.arrays import (
    Call,
    as_array,
    as_int,
    as_shape,
)
from jaxscope.semantics.evaluation.values import UNKNOWN, Array, Const, External, Scalar, Sequence, Shape, Value
from jaxscope.semantics.library.table import first_array


def _is_one(size: Value | None) -> bool:
    """Is one number drawn? An empty tuple asks for an array of one."""
    return size is None or size == Const(None)


_SIZE_AT = {
    **dict.fromkeys(("random", "random_sample", "ranf", "sample", "standard_normal", "standard_exponential"), 0),
    **dict.fromkeys(("exponential", "poisson", "rayleigh", "standard_gamma", "chisquare", "standard_t"), 1),
    **dict.fromkeys(("geometric", "dirichlet", "weibull", "pareto", "zipf", "power"), 1),
    **dict.fromkeys(("normal", "uniform", "integers", "randint", "laplace", "gumbel", "logistic"), 2),
    **dict.fromkeys(("lognormal", "beta", "gamma", "binomial", "vonmises", "f", "wald"), 2),
    "triangular": 3,
}
_NO_NUMBERS = {"size", "dtype", "out", "endpoint", "method"}
_WHOLE = {"integers", "randint", "poisson", "binomial", "geometric", "zipf"}


def numpy_random(name: str, call: Call) -> Value:
    """`np.random.NAME(...)` or a generator's method."""
    if name in ("rand", "randn"):
        return Scalar("float") if not call.args else call.array(tuple(as_int(value) for value in call.args), "float64")
    if name == "permutation":
        number = as_int(call.args[0]) if call.args else None
        array = first_array(call)
        if number is not None:
            return call.array((number,), "int64")
        return call.array(array.shape if array else None, array.dtype if array else None)
    if name == "choice":
        return _choice(call)
    if name not in _SIZE_AT:
        return UNKNOWN
    if name == "dirichlet":
        return call.array(None, "float64")
    positions = {"random": 1, "standard_normal": 1, "standard_exponential": 1, "integers": 3, "randint": 3}
    default = "int64" if name in _WHOLE else "float64"
    size = call.get("size", _SIZE_AT[name])
    dtype = call.dtype(positions.get(name), default)
    if not _is_one(size):
        return call.array(as_shape(size), dtype)
    given = [*call.args[: _SIZE_AT[name]], *(call.keywords[word] for word in call.keywords if word not in _NO_NUMBERS)]
    filled = any(isinstance(value, Sequence) or (isinstance(value, Array) and value.shape != ()) for value in given)
    if filled or "out" in call.keywords:
        return call.array(None, dtype)
    if not all(isinstance(value, Array | Const | Scalar) for value in given):
        return UNKNOWN  # a number or an array
    asked = call.get("dtype", positions.get(name))
    if name in ("integers", "randint") and asked != External("builtins.int") and (asked or name == "integers"):
        return call.array((), dtype)  # a NumPy scalar
    return Scalar("int" if name in _WHOLE else "float")


def _choice(call: Call) -> Value:
    of, size = call.get("a", 0), call.get("size", 1)
    array = first_array(call)
    if array is None or array.shape == ():
        known = isinstance(of, Array | Const | Scalar)
        if _is_one(size):
            return Scalar("int") if known else UNKNOWN
        return call.array(as_shape(size), "int64" if known else None)
    if _is_one(size):
        return call.array(() if array.shape is not None and len(array.shape) == 1 else None, array.dtype)
    return call.array(as_shape(size), array.dtype)


_JAX_SHAPE_AT = {
    **dict.fromkeys(("normal", "uniform", "exponential", "laplace", "gumbel", "logistic", "cauchy", "bits", "ball"), 1),
    **dict.fromkeys(("randint", "bernoulli", "poisson", "gamma", "beta", "truncated_normal"), 2),
    **dict.fromkeys(("rademacher",), 1),
    "orthogonal_": 1,
}


def _is_raw(call: Call) -> bool:
    """Is the key one of the old kind, two plain words?"""
    key = call.get("key", 0)
    return isinstance(key, Array) and key.dtype == "uint32"


def jax_random(name: str, call: Call) -> Value:
    """`jax.random.NAME(...)`."""
    if name == "PRNGKey" or (name in ("fold_in", "clone", "split") and _is_raw(call)):
        word: Shape = (2,)
        dtype = "uint32"
    else:
        word, dtype = (), "key<fry>"
    if name in ("key", "PRNGKey", "fold_in", "wrap_key_data", "clone"):
        return call.array(word, dtype)
    if name == "split":
        given = call.get("num", 1)
        keys = (2,) if given is None else as_shape(given)
        count = keys[0] if keys is not None and len(keys) == 1 else None
        if count is not None and count <= 64:
            return Sequence((call.array(word, dtype),) * count)
        return call.array(None if keys is None else (*keys, *word), dtype)
    if name == "permutation":
        number = as_int(call.args[1]) if len(call.args) > 1 else None
        second = as_array(call.args[1], call) if len(call.args) > 1 else None
        return call.array((number,), call.int) if number is not None else second or call.array(None, None)
    if name == "choice":
        wanted = call.get("shape", 2)
        return call.array(() if wanted is None else as_shape(wanted), None)
    if name not in _JAX_SHAPE_AT:
        return call.array(None, None)
    position = 1 if name in ("randint",) else _JAX_SHAPE_AT[name]
    if name == "truncated_normal":
        position = 3
    shape_value = call.get("shape", position)
    shape = () if shape_value is None else as_shape(shape_value)
    if name == "bernoulli":
        return call.array(shape, "bool")
    if name == "randint":
        return call.array(shape, call.dtype(4, call.int))
    if name in ("poisson", "rademacher"):
        return call.array(shape, call.dtype(None, call.int))
    if name == "bits":
        return call.array(shape, call.dtype(None, "uint32"))
    if name in ("gamma", "beta"):
        return call.array(shape, call.dtype(None, call.float))
    default_at = {"uniform": 2, "normal": 2, "truncated_normal": 4}.get(name)
    return call.array(shape, call.dtype(default_at, call.float))
