from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["pytester"]
# How fast an example is depends on what else the machine does.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that hangs fails, with all stacks, before it uses up the time of everything after it.

    Not an ini option: that would hold for studies too, whose trials may take as long as they like.
    """
    for item in items:
        item.add_marker(pytest.mark.timeout(300, method="thread"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout with the shipped corpus, questions and studies."""
    return Path(__file__).resolve().parent.parent
