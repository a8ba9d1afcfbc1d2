"""Forager: a focused web crawler.

A `Crawl` runs in memory. A `Project` is a folder with a crawl that can be stopped, resumed, searched and exported.
`Critic` and `Strategy` say what a critic or a strategy of your own must have; `Page`, `Visit`, `Judgement` and
`ScoredLinks` are what they are given and what they give. All other words are in `forager.types`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forager.config import CrawlConfig as CrawlConfig
    from forager.config import read_config as read_config
    from forager.crawl.loop import Crawl as Crawl
    from forager.errors import ForagerError as ForagerError
    from forager.project import Project as Project
    from forager.types import Critic as Critic
    from forager.types import Judgement as Judgement
    from forager.types import Page as Page
    from forager.types import ScoredLinks as ScoredLinks
    from forager.types import Strategy as Strategy
    from forager.types import Visit as Visit

_HOMES = {
    "Crawl": "crawl.loop",
    "CrawlConfig": "config",
    "Critic": "types",
    "ForagerError": "errors",
    "Judgement": "types",
    "Page": "types",
    "Project": "project",
    "ScoredLinks": "types",
    "Strategy": "types",
    "Visit": "types",
    "read_config": "config",
}
__all__ = [
    "Crawl",
    "CrawlConfig",
    "Critic",
    "ForagerError",
    "Judgement",
    "Page",
    "Project",
    "ScoredLinks",
    "Strategy",
    "Visit",
    "read_config",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: whoever wants only the types need not wait for the crawler."""
    if name not in _HOMES:
        raise AttributeError(f"module 'forager' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"forager.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
