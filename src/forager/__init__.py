"""Forager: a focused web crawler. `from forager import Crawl, CrawlConfig`; its words are in `forager.types`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forager.config import CrawlConfig as CrawlConfig
    from forager.config import read_config as read_config
    from forager.crawl.loop import Crawl as Crawl
    from forager.errors import ForagerError as ForagerError

_HOMES = {"Crawl": "crawl.loop", "CrawlConfig": "config", "ForagerError": "errors", "read_config": "config"}
__all__ = ["Crawl", "CrawlConfig", "ForagerError", "read_config"]


def __getattr__(name: str) -> Any:
    """Imported when asked for: whoever wants only the types need not wait for the crawler."""
    if name not in _HOMES:
        raise AttributeError(f"module 'forager' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"forager.{_HOMES[name]}"), name)
