"""Extension of Griffe: examples in docstrings (`>>> …`) become blocks of code on the reference pages."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)  # up to the next empty line


class Examples(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
