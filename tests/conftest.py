"""Options that all tests share."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("hypothesis"):  # the worker's tests run where it is not installed
    from hypothesis import settings

    # A busy machine is no fault of the code.
    settings.register_profile("jaxscope", deadline=None)
    settings.load_profile("jaxscope")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write what is seen as the expectation, where tests allow it")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Are expectations to be written anew?"""
    return bool(request.config.getoption("--bless"))
