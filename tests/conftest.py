from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout with the shipped corpus, questions and studies."""
    return Path(__file__).resolve().parent.parent
