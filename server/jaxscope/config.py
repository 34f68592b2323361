"""The settings: one frozen dataclass tree. It feeds defaults, the extension's manifest, `docs/settings.md` and the
`[tool.jaxscope]` schema; nothing else knows a default.

A field's metadata holds its documentation (`doc`), the scope that VS Code gives it (`scope`) and, for text fields
that take one of a few words, the words (`choices`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

WHEN = ("onSave", "onType", "manual", "off")
LEVELS = ("ignore", "hint", "information", "warning", "error")
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?B)?\s*", re.IGNORECASE)


class ConfigError(ValueError):
    """A setting has a value that it cannot have; the text names both."""


def parse_size(text: str) -> int:
    """Bytes of a size such as `1MiB`, `64 KiB`, `1048576`. Units are binary. Raises ConfigError."""
    match = _SIZE.fullmatch(str(text))
    if not match:
        raise ConfigError(f"not a size: {text!r} (write it like 1MiB, 64KiB or 4096)")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _setting(default: Any, doc: str, scope: str = "resource", choices: tuple[str, ...] = (), **more: Any) -> Any:
    meta = {"doc": doc, "scope": scope, "choices": choices, **more}
    if isinstance(default, (dict, list)):
        return field(default_factory=lambda: type(default)(default), metadata=meta)
    return field(default=default, metadata=meta)


@dataclass(frozen=True, slots=True)
class TraceConfig:
    """When and how the user's code is run to be traced."""

    when: str = _setting("onSave", "When your code is run to trace it.", choices=WHEN)
    timeout: float = _setting(60.0, "Seconds after which a worker that imports, traces or compiles is stopped.")
    memory_limit: str = _setting("4GiB", "Memory that a worker may take before it is stopped.")
    allow_side_effects: tuple[str, ...] = _setting(
        (),
        "Side effects let through while tracing: `write`, `delete`, `rename`, `process`, `connect`.",
        items=("write", "delete", "rename", "process", "connect"),
    )
    env: dict[str, str] = _setting({}, "Environment variables for workers.")


@dataclass(frozen=True, slots=True)
class TimingConfig:
    """Where timings are taken."""

    platform: str = _setting(
        "default", "JAX platform of the timing worker: `default` lets JAX choose, else `cpu`, `gpu` or `tpu`."
    )


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The log."""

    level: str = _setting("info", "How much the log says.", "window", ("error", "warning", "info", "debug"))


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, under `jaxscope.` in the editor and, in kebab-case, in `[tool.jaxscope]`."""

    interpreter: str = _setting(
        "",
        "Python interpreter whose JAX is used. Empty: the one that the Python extension selects, else `.venv`.",
        "machine-overridable",
    )
    captured_threshold: str = _setting("1MiB", "Captured arrays of at least this size are warned of.")
    captured_total_threshold: str = _setting(
        "1MiB", "Containers whose captured arrays have at least this size together are warned of."
    )
    simulated_devices: int = _setting(
        0, "Number of CPU devices that JAX is to simulate, for programs that spread arrays over devices. 0: none."
    )
    code_lens: bool = _setting(True, "Show a code lens over each traced function.")
    rules: dict[str, str] = _setting({}, "Level of each rule, by name.", levels=LEVELS)
    trace: TraceConfig = field(default_factory=TraceConfig)
    timing: TimingConfig = field(default_factory=TimingConfig)
    log: LogConfig = field(default_factory=LogConfig)

    @property
    def threshold(self) -> int:
        """`captured_threshold` in bytes."""
        return parse_size(self.captured_threshold)

    @property
    def total_threshold(self) -> int:
        """`captured_total_threshold` in bytes."""
        return parse_size(self.captured_total_threshold)


def camel(name: str) -> str:
    """`allow_side_effects` as the editor writes it."""
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def kebab(name: str) -> str:
    """`allow_side_effects` as pyproject.toml writes it."""
    return name.replace("_", "-")


def with_values(config: Any, values: Mapping[str, Any], path: str = "") -> Any:
    """`config` (any node of the tree) with `values` laid over it, keys in camelCase or kebab-case.

    Keys that are no settings are ignored, since clients send more than we know. Raises ConfigError for a value of
    the wrong type or outside the choices.
    """
    hints, changes = get_type_hints(type(config)), {}
    for entry in fields(config):
        for key in (camel(entry.name), kebab(entry.name)):
            if key in values and values[key] is not None:
                where = f"{path}{key}"
                old = getattr(config, entry.name)
                if is_dataclass(old):
                    if not isinstance(values[key], Mapping):
                        raise ConfigError(f"{where}: a table is wanted")
                    changes[entry.name] = with_values(old, values[key], f"{where}.")
                else:
                    changes[entry.name] = _value(values[key], hints[entry.name], entry.metadata, where)
    return replace(config, **changes)


def _value(value: Any, kind: Any, meta: Mapping[str, Any], where: str) -> Any:
    choices = meta.get("choices") or ()
    if choices and value not in choices:
        raise ConfigError(f"{where}: {value!r} is none of {', '.join(choices)}")
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if kind is bool and isinstance(value, bool):
        return value
    if kind is str and isinstance(value, (str, int)) and not isinstance(value, bool):
        if where.lower().endswith(("threshold", "limit")):
            parse_size(str(value))
        return str(value)
    if get_args(kind)[:1] == (str,) and isinstance(value, (list, tuple)):
        return tuple(str(item) for item in value)
    if get_args(kind) == (str, str) and isinstance(value, Mapping):
        levels = meta.get("levels")
        for key, item in value.items():
            if levels and item not in levels:
                raise ConfigError(f"{where}.{key}: {item!r} is none of {', '.join(levels)}")
        return {str(key): str(item) for key, item in value.items()}
    raise ConfigError(f"{where}: {value!r} is not a {getattr(kind, '__name__', kind)}")
