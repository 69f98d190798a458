"""What this machine and software are, for recording with a run."""

import os
import platform
from importlib import metadata

import pytest


def describe() -> dict[str, str]:
    """System, processor, cores and versions, as strings."""
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "pytest": pytest.__version__,
        "pytest-tokenbench": metadata.version("pytest-tokenbench"),
        "numpy": metadata.version("numpy"),
    }
