"""The prompts, one file each, and how they are filled."""

import hashlib
from functools import cache
from importlib import resources
from string import Template


@cache
def template(name: str) -> str:
    """The text of the prompt `name`, without the file's last line end."""
    file = resources.files("pytest_tokenbench").joinpath("prompts", f"{name}.txt")
    return file.read_text(encoding="utf-8").removesuffix("\n")


def fill(name: str, **values: object) -> str:
    """The prompt `name` with its `$names` replaced in one pass: values are never read as templates themselves.

    Raises:
        KeyError: A name of the template was given no value.
    """
    return Template(template(name)).substitute(values)


def after(nonce: str, prompt: str) -> str:
    """The prompt with a nonce before it, so that its start is like no other's."""
    return f"[{nonce}]\n{prompt}"


@cache
def sha256(*names: str) -> str:
    """SHA-256 of the named prompts' texts, for recording with a run."""
    return hashlib.sha256("\0".join(map(template, names)).encode()).hexdigest()
