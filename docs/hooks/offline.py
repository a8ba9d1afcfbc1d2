"""MkDocs hook: stops the build if a page would load anything from another host when somebody reads it."""

from __future__ import annotations

import re
from typing import Any

_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\bsrc\s*=\s*["']?(?:https?:)?//[^\s"'>]+
    | <link\b(?=[^>]*\brel\s*=\s*["']?(?:stylesheet|preconnect|icon|preload))[^>]*\bhref\s*=\s*["']?(?:https?:)?//[^\s"'>]+
    | <object\b[^>]*\bdata\s*=\s*["']?(?:https?:)?//[^\s"'>]+""",
    re.IGNORECASE | re.VERBOSE,
)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    found = _LOADED.search(output)
    if found:
        raise ValueError(f"{page.file.src_uri} loads something from another host: {found[0][:200]}")
    return output
