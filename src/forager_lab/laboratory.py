"""A web made ready for trials."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from forager.registry import Spec
from forager.teaching.labelled_web import LabelledWeb
from forager.types import Fetch, Page, Url
from forager.web.page import FEATURES
from forager_lab.cache import PageCache, cache_folder
from forager_lab.graph import WebGraph, build_graph, load_graph
from forager_lab.webs import Web
from forager_lab.webs.made import NAME, made_web


class Laboratory:
    """A web made ready for trials: its pages parsed once, its graph drawn when somebody asks for it."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.cache = PageCache(cache_folder() / f"{web.fingerprint}.pages")

    async def page(self, url: Url) -> Page | None:
        answer = await self.web.fetcher.fetch(url)
        page = self.cache.read(answer) if isinstance(answer, Fetch) else None
        return page if isinstance(page, Page) else None

    def pages(self, urls: Sequence[Url]) -> Iterator[Page | None]:
        """The pages of the URLs, one at a time; None for what is no page."""
        loop = asyncio.new_event_loop()
        try:
            for url in urls:
                yield loop.run_until_complete(self.page(url))
        finally:
            loop.close()

    @cached_property
    def graph(self) -> WebGraph:
        urls = list(self.web.truth.labels)
        file = cache_folder() / f"{self.web.fingerprint}-{FEATURES}.graph.npz"
        if not file.exists():
            links = (page.links.targets if page else () for page in self.pages(urls))
            build_graph(urls, links, self.web.final).save(file)
        return load_graph(file, urls)


def open_web(name: str) -> Web:
    """The recorded web in the folder of that name, or `procedural`, with its numbers as in `procedural:hosts=100`."""
    if name.partition(":")[0] == NAME and not Path(name).is_dir():
        return made_web(Spec.parse(name).options)
    return LabelledWeb(Path(name))


def find_webs(folders: Sequence[Path]) -> list[Path]:
    """The recorded webs in some folders or directly below them, in order of name."""
    places = [place for folder in folders for place in (folder, *sorted(folder.glob("*/")))]
    return [place for place in places if (place / "labels.tsv").exists() and any(place.glob("*.warc*"))]
