"""Checking JSON values against the package's schema files, with every fault in words."""

import json
import textwrap
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from pytest_tokenbench.corpus.faults import Fault

_SHOWN_LENGTH = 60
_HERE = "pytest_tokenbench.corpus"
# JSON Schema takes 3.0 for an integer, Python takes it for no index.
_Strict = extend(  # type: ignore[no-untyped-call]  # its stubs have none
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)
_TYPE_WORDS = {
    "array": "a list",
    "object": "an object",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def schema_text(name: str, package: str = _HERE) -> str:
    """The text of a schema file of a package, such as `questions.schema.json`."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


@cache
def _validator(name: str, package: str) -> Validator:
    validator: Validator = _Strict(json.loads(schema_text(name, package)))
    return validator


def check(value: Any, schema: str, shown: str, noun: str, package: str = _HERE) -> list[Fault]:
    """Every way in which `value` departs from the schema file, one sentence each, in the order of the file.

    `noun` names what the lists hold ("question", "document") for places without an id.
    """
    return [Fault(shown, place(value, path, noun), said) for path, said in departures(value, schema, package)]


def departures(value: Any, schema: str, package: str = _HERE) -> list[tuple[list[str | int], str]]:
    """As `check`: the path of keys and indices to each, and its sentence."""
    errors = sorted(
        _validator(schema, package).iter_errors(value), key=lambda error: list(map(str, error.absolute_path))
    )
    # Several parts of a schema may ask the same of one place.
    found = dict.fromkeys((tuple(error.absolute_path), _sentence(error)) for error in errors)
    return [(list(path), sentence) for path, sentence in found]


def place(value: Any, path: list[str | int], noun: str) -> str:
    """The entry that a path leads into, by its id or else its number; empty if it leads into none."""
    owner = ""
    node = value
    for step in path:
        node = node[step]
        if isinstance(step, int) and isinstance(node, dict) and not owner:
            name = node.get("id")
            owner = f'{noun} "{name}"' if isinstance(name, str) and name else f"{noun} {step + 1}"
    return owner


def _sentence(error: ValidationError) -> str:
    key = next((str(step) for step in reversed(error.absolute_path) if isinstance(step, str)), "")
    subject = f'key "{key}"' if key and not isinstance(error.instance, dict) else "it"
    instance: Any = error.instance
    expected: Any = error.validator_value
    schema: Any = error.schema
    found = textwrap.shorten(json.dumps(instance, ensure_ascii=False), _SHOWN_LENGTH, placeholder="...")
    match error.validator:
        case "required":
            # Each key that is missing is an error of its own, which only its message names.
            name = error.message.split("'")[1]
            owner = error.absolute_path[-1] if error.absolute_path else None
            return f'the key "{name}" is missing' + (f' in "{owner}"' if isinstance(owner, str) else "")
        case "additionalProperties":
            known = schema["properties"]
            unknown = ", ".join(f'"{name}"' for name in instance if name not in known)
            return f"unknown key {unknown}; known are {', '.join(known)}"
        case "type":
            wanted = expected if isinstance(expected, list) else [expected]
            return f"{subject} must be {' or '.join(_TYPE_WORDS[name] for name in wanted)}, found {found}"
        case "minItems" | "minLength":
            return f"{subject} must not be empty"
        case "maxItems":
            return f"{subject} must be empty here, found {found}"
        case "enum" | "const":
            allowed = expected if error.validator == "enum" else [expected]
            return f"{subject} must be {' or '.join(map(json.dumps, allowed))}, found {found}"
        case "pattern":
            return f"{subject} has a form that is not allowed ({expected}), found {found}"
        case _:
            return f"{subject}: {error.message}"
