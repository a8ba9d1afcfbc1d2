"""Secrets: they come from the environment, and go only to the hosts that they are for.

A configuration has `$NAME` where a secret belongs. Archive and log have `[left out]` there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import lru_cache
from re import IGNORECASE, compile
from string import Template
from typing import TypeAlias

from forager.errors import ForagerError

LEFT_OUT = b"[left out]"
SECRET_HEADERS = frozenset((b"authorization", b"cookie", b"proxy-authorization"))
HostFilter: TypeAlias = Callable[[str], bool]


def from_environment(text: str, key: str) -> str:
    """The text with the value of a variable for each `$NAME` or `${NAME}`; `$$` stands for a dollar sign. `key` is the
    place in the configuration, for the error if a variable is not set.

    >>> import os
    >>> os.environ["OWL_TOKEN"] = "hoot"
    >>> from_environment("Bearer $OWL_TOKEN", "[fetch] headers")
    'Bearer hoot'
    """
    set_ones = {name: value for name, value in os.environ.items() if value}
    try:
        return Template(text).substitute(set_ones)
    except KeyError as error:
        raise ForagerError(f"{key}: the environment variable {error.args[0]} is not set") from None
    except ValueError:
        raise ForagerError(f"{key}: write $NAME for an environment variable, and $$ for a dollar sign") from None


def without_secrets(head: bytes, names: frozenset[bytes]) -> bytes:
    """The head of a request or answer, without the values of some headers (in small letters)."""
    lines = [line.partition(b":") for line in head.split(b"\r\n")]
    return b"\r\n".join(name + b": " + LEFT_OUT if name.lower() in names else name + c + v for name, c, v in lines)


def host_filter(patterns: Sequence[str]) -> HostFilter:
    """Whether a host name is one of these, or fits a pattern: "*.example.org" """
    pattern = compile("|".join(translate(pattern.lower()) for pattern in patterns) or "(?!)", IGNORECASE)
    return lru_cache(maxsize=10_000)(lambda host: pattern.fullmatch(host) is not None)
