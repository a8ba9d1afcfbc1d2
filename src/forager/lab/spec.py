"""A critic or strategy as the command line names it: `best-first`, with parameters `best-first:tau=0.3:hard=true`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field

from forager.errors import ForagerError


@dataclass(frozen=True)
class Spec:
    name: str
    options: dict[str, object] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        name, *options = text.strip().split(":")
        return cls(name, dict(_option(text, option) for option in options))

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{key}={_plain(value)}" for key, value in self.options.items())])


def _option(text: str, option: str) -> tuple[str, object]:
    key, equals, value = option.partition("=")
    if not equals:
        raise ForagerError(f"{text!r}: write parameters as name:key=value:key=value")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value  # a bare word


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
