"""MkDocs hook: shows CONTRIBUTING.md and CHANGELOG.md of the repository's root as pages, where they exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FILES = {"project/contributing.md": "CONTRIBUTING.md", "project/changelog.md": "CHANGELOG.md"}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    name = FILES.get(page.file.src_uri)
    if name is None or not (ROOT / name).is_file():
        return markdown
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](../")
