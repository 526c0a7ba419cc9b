"""A fast check whether a document fits a JSON schema, since a job may have thousands of reports. For a document that does not fit, jsonschema
says what is wrong."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

Check = Callable[[Any], bool]

TYPES: dict[str, Check] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer()),
}
SILENT = {"$schema", "$id", "$defs", "title", "description"}
"""Keywords of a schema that check nothing."""


class Compiler:
    """Makes checks of the parts of one schema. Raises KeyError for a keyword that it does not know."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.whole = schema
        self.known: dict[str, Check] = {}

    def compile(self, schema: Mapping[str, Any]) -> Check:
        """A function that returns True for documents that fit."""
        checks = [check for keyword in schema if keyword not in SILENT for check in self._keyword(keyword, schema)]
        return checks[0] if len(checks) == 1 else lambda value: all(check(value) for check in checks)

    def _keyword(self, keyword: str, schema: Mapping[str, Any]) -> list[Check]:
        match keyword:
            case "type":
                names = schema["type"]
                allowed = [TYPES[name] for name in ([names] if isinstance(names, str) else names)]
                return allowed if len(allowed) == 1 else [lambda value: any(check(value) for check in allowed)]
            case "const":
                return [self._one_of([schema["const"]])]
            case "enum":
                return [self._one_of(schema["enum"])]
            case "minimum":
                least, is_number = schema["minimum"], TYPES["number"]
                return [lambda value: not is_number(value) or value >= least]
            case "required":
                names = frozenset(schema["required"])
                return [lambda value: not isinstance(value, dict) or names <= value.keys()]
            case "properties":
                return [self._members(schema)]
            case "additionalProperties":
                return [] if "properties" in schema else [self._members(schema)]
            case "items":
                check = self.compile(schema["items"])
                return [lambda value: not isinstance(value, list) or all(map(check, value))]
            case "allOf":
                return [self.compile(part) for part in schema["allOf"]]
            case "$ref":
                return [self._reference(schema["$ref"])]
        raise KeyError(keyword)

    def _one_of(self, allowed: Sequence[Any]) -> Check:
        return lambda value: any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed)

    def _members(self, schema: Mapping[str, Any]) -> Check:
        named = {name: self.compile(part) for name, part in schema.get("properties", {}).items()}
        others = schema.get("additionalProperties", True)
        other = (lambda value: others) if isinstance(others, bool) else self.compile(others)
        return lambda value: not isinstance(value, dict) or all(named.get(name, other)(member) for name, member in value.items())

    def _reference(self, path: str) -> Check:
        part = path.removeprefix("#/$defs/")
        if part not in self.known:
            self.known[part] = self.compile(self.whole["$defs"][part])
        return self.known[part]


def explain(document: Any, schema: Mapping[str, Any]) -> str:
    """What is wrong with a document: its first error by the schema; "" if it fits. Without jsonschema, that it does not fit."""
    try:
        import jsonschema
    except ModuleNotFoundError:
        return "it does not fit the schema"
    for error in islice(jsonschema.Draft202012Validator(schema).iter_errors(document), 1):
        where = "/".join(str(part) for part in error.absolute_path)
        message = error.message if len(error.message) < 200 else f"does not fit the schema's {error.validator}"
        return f"{where}: {message}" if where else message
    return ""
