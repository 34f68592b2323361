"""Options that all tests share."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write what is seen as the expectation, where tests allow it")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Are expectations to be written anew?"""
    return bool(request.config.getoption("--bless"))
