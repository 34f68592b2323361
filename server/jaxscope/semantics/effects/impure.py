"""Calls whose effect or result belongs to the moment when they run: in traced code, to the trace."""

from __future__ import annotations

from typing import Literal

from jaxscope.semantics.vocabulary import words

Impurity = Literal["print", "log", "time", "random", "write", "input", "count"]

_LEVELS = words("debug info warning warn error exception critical log fatal")
_TIMES = words("time perf_counter monotonic process_time time_ns perf_counter_ns monotonic_ns process_time_ns ctime")
_DRAWS = words(
    "random randint randrange uniform gauss normalvariate choice choices sample shuffle betavariate expovariate "
    "lognormvariate triangular getrandbits randbytes"
)
_NUMPY_DRAWS = words(
    "rand randn randint random random_sample ranf sample choice shuffle permutation normal uniform standard_normal "
    "beta binomial exponential gamma poisson lognormal multivariate_normal laplace logistic dirichlet geometric gumbel "
    "integers standard_exponential standard_gamma standard_t triangular vonmises wald weibull zipf bytes permuted"
)

_TABLE: dict[str, Impurity] = {
    "builtins.print": "print",
    "pprint.pprint": "print",
    "builtins.input": "input",
    **{f"{module}.{level}": "log" for module in ("logging", "absl.logging") for level in _LEVELS},
    "warnings.warn": "log",
    **{f"time.{name}": "time" for name in _TIMES},
    **{f"datetime.datetime.{name}": "time" for name in words("now utcnow today")},
    **{f"random.{name}": "random" for name in _DRAWS},
    **{f"numpy.random.{name}": "random" for name in _NUMPY_DRAWS},
    **{f"secrets.{name}": "random" for name in words("randbelow randbits token_bytes token_hex choice")},
    "uuid.uuid4": "random",
    "os.urandom": "random",
    **{f"numpy.{name}": "write" for name in words("save savez savez_compressed savetxt")},
    **{f"{module}.dump": "write" for module in words("json pickle yaml joblib")},
}
GENERATOR_DRAWS = frozenset(_NUMPY_DRAWS)
"""Methods of a generator of NumPy's that advance it."""
LOG_LEVELS = frozenset(_LEVELS)
LOGGERS = frozenset(("logging.getLogger", "logging.Logger", "structlog.get_logger"))
"""What makes a logger."""
COUNTERS = frozenset(("itertools.count", "itertools.cycle", "builtins.iter"))
"""What makes an iterator that `next` advances."""
UNSEEDED = frozenset(("numpy.random.default_rng", "numpy.random.RandomState", "random.Random"))
"""What draws its seed from the system when it is given none."""


def impurity(name: str) -> Impurity | None:
    """What calling the function of that dotted name does besides computing; None when nothing is known."""
    return _TABLE.get(name)
