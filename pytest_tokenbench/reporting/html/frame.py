"""The frame of every page: its head, style and script around a template, and nothing that it asks for from outside."""

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pytest_tokenbench.reporting import wording

_PACKAGE = "pytest_tokenbench.reporting.html"


def page(template: str, title: str, **values: Any) -> str:
    """A template of this package in the frame, whole."""
    script = _asset("report.js")
    whole = (
        _environment()
        .get_template(template)
        .render(
            title=title,
            policy=_policy(script),
            style=Markup(_asset("report.css")),  # noqa: S704  # a file of this package
            script=Markup(script),  # noqa: S704  # a file of this package
            **values,
        )
    )
    return wording.plain(whole)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _asset(name: str) -> str:
    return resources.files(_PACKAGE).joinpath("assets", name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """What the page may do: run its own script, and ask for nothing."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
