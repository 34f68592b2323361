"""Settings from an editor and from pyproject.toml land in the same tree; wrong ones are named."""

from __future__ import annotations

import pytest

from jaxscope.config import Config, ConfigError, parse_size, with_values


@pytest.mark.parametrize(
    ("text", "size"), [("1MiB", 1 << 20), ("64 KiB", 1 << 16), ("1.5MB", 3 << 19), ("33", 33), ("2g", 2 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "big", "-1", "1 XiB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_size(text)


def test_both_spellings() -> None:
    camel = with_values(Config(), {"capturedThreshold": "64KiB", "trace": {"allowSideEffects": ["write"]}})
    kebab = with_values(Config(), {"captured-threshold": "64KiB", "trace": {"allow-side-effects": ["write"]}})
    assert camel == kebab
    assert camel.threshold == 1 << 16
    assert camel.trace.allow_side_effects == ("write",)


def test_unknown_keys_and_nulls_are_ignored() -> None:
    assert with_values(Config(), {"nothing": 1, "interpreter": None}) == Config()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"trace": {"when": "sometimes"}}, "trace.when: 'sometimes' is none of"),
        ({"trace": True}, "trace: a table"),
        ({"codeLens": "yes"}, "codeLens: 'yes' is not a bool"),
        ({"capturedThreshold": "much"}, "not a size"),
        ({"rules": {"captured-array": "loud"}}, "rules.captured-array: 'loud'"),
    ],
)
def test_wrong_values_are_named(values: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        with_values(Config(), values)
