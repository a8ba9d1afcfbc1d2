"""MkDocs hook: stops the build if a page would load anything from another host when somebody reads it."""

from __future__ import annotations

import re
from typing import Any

_ELSEWHERE = r"""\s*=\s*["']?(?:https?:)?//[^\s"'>]+"""
_LOADED = re.compile(
    rf"<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\bsrc{_ELSEWHERE}"
    rf"|<link\b(?=[^>]*\brel\s*=\s*[\"']?(?:stylesheet|preconnect|preload|icon))[^>]*\bhref{_ELSEWHERE}"
    rf"|<object\b[^>]*\bdata{_ELSEWHERE}",
    re.IGNORECASE,
)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    found = _LOADED.search(output)
    if found:
        raise ValueError(f"{page.file.src_uri} loads something from another host: {found[0][:200]}")
    return output
