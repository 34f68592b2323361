"""The settings of a run: `[tool.jaxscope]` of the nearest `pyproject.toml` that has it, under the options given."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxscope.cli.problem import Problem
from jaxscope.config import Config, ConfigError, camel, kebab, with_values
from jaxscope.project_settings import project_signatures, project_table
from jaxscope.rules.base import all_rules


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the files of one project."""

    config: Config
    trace: bool
    """May the user's code be run?"""


def settings_for(path: str, options: argparse.Namespace) -> Settings:
    """Settings for one file. Raises Problem for a setting that cannot be, and for a rule that is not."""
    try:
        values, source = project_table(path)
        project_signatures(path)
    except ConfigError as error:
        raise Problem(str(error)) from None
    for line in _unknown(Config(), values):
        print(f"jaxscope: {source}: {line}", file=sys.stderr)
    trace = values.pop("trace", {})
    if isinstance(trace, Mapping):
        values["trace"], wanted = trace, False
    else:
        wanted = bool(trace)
    try:
        config = with_values(Config(), values)
        config = _with_options(config, options)
    except ConfigError as error:
        raise Problem(f"{source}: {error}" if source else str(error)) from None
    if options.run:
        wanted = getattr(options, "trace", None) is not False
    elif getattr(options, "trace", None) is not None:
        wanted = options.trace
    return Settings(config, wanted)


def _with_options(config: Config, options: argparse.Namespace) -> Config:
    given: dict[str, Any] = {}
    if getattr(options, "threshold", None):
        given["captured-threshold"] = given["captured-total-threshold"] = options.threshold
    if options.python:
        # As typed it is relative to where the command was typed, unlike one in a project's settings.
        given["interpreter"] = os.path.abspath(options.python) if os.path.exists(options.python) else options.python
    if getattr(options, "devices", None):
        given["simulated-devices"] = options.devices
    if options.timeout:
        given["trace"] = {"timeout": options.timeout}
    config = with_values(config, given)
    chosen, ignored = getattr(options, "select", None), getattr(options, "ignore", ())
    if only := getattr(options, "rule", None):
        chosen = (only,)
    known = all_rules()
    _check_rules([*(chosen or ()), *ignored], known)
    off = {name for name in known if (chosen and name not in chosen) or name in ignored}
    rules = {
        name: level for name, level in config.rules.items() if not (chosen and name in chosen and level == "ignore")
    }
    return dataclasses.replace(config, rules=rules | dict.fromkeys(off, "ignore"))


def _check_rules(names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise Problem(f"no such rule: {name} (there are {', '.join(sorted(known))})")


def _unknown(config: Any, values: Mapping[str, Any], path: str = "") -> Iterable[str]:
    """What to say of keys that are no settings: most are misspelled."""
    names = [entry.name for entry in dataclasses.fields(config)]
    known = {write(name): name for name in names for write in (camel, kebab)}
    for key, value in values.items():
        if key not in known:
            near = difflib.get_close_matches(key, [kebab(name) for name in names], 1)
            yield f"unknown setting {path}{key}" + (f" (did you mean {path}{near[0]}?)" if near else "")
        elif isinstance(value, Mapping) and dataclasses.is_dataclass(node := getattr(config, known[key])):
            yield from _unknown(node, value, f"{path}{key}.")
