"""Servers that are away for a while, in the middle or at the start, one host or all of them: nothing is lost."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from forager.clock import WallClock
from forager.crawl.audit import lost_urls
from forager.store import Catalogue, RecordedProject
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from tests.network import test_crawls
from tests.network.serving import served
from tests.network.test_crawls import finish, pages_of, project, start

NUMBERS = {**test_crawls.NUMBERS, "errors": 0.0}  # a page that never works would be tried again and again
HOST = next(iter(ProceduralWeb(WebPlan(**NUMBERS)).homes())).split("/")[2]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    with served(folder / "requests.log", **NUMBERS) as port:
        assert finish(start(project(folder / "p", port, retries=2)))[0] == 0
    return sorted(pages_of(folder / "p"))


def lost(folder: Path) -> list[str]:
    with RecordedProject(folder) as recorded:
        return [str(url) for url in lost_urls(recorded, WallClock())]


@pytest.mark.parametrize("host", ["", HOST], ids=["all", "one"])
@pytest.mark.parametrize("after", [0, 40], ids=["start", "middle"])
def test_an_outage_costs_no_page(tmp_path: Path, undisturbed: list[str], after: int, host: str) -> None:
    with served(tmp_path / "requests.log", outages=[[after, 3.0, host]], **NUMBERS) as port:
        code, said = finish(start(project(tmp_path / "p", port, retries=2)))
    assert code == 0, said
    assert "nothing is left to fetch\n" in said
    assert sorted(pages_of(tmp_path / "p")) == undisturbed
    assert lost(tmp_path / "p") == []
    with Catalogue(tmp_path / "p") as catalogue:
        assert catalogue.status().outcomes["retry"] > 0  # there was an outage


def test_a_server_that_starts_after_the_crawl(tmp_path: Path, undisturbed: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    crawl = start(project(tmp_path / "p", port, retries=2))
    time.sleep(2.0)
    with served(tmp_path / "requests.log", port=port, **NUMBERS):
        code, said = finish(crawl)
    assert code == 0, said
    assert sorted(pages_of(tmp_path / "p")) == undisturbed


def test_a_host_that_stays_away_keeps_its_links_and_the_next_crawl_asks_again(
    tmp_path: Path, undisturbed: list[str]
) -> None:
    folder = tmp_path / "p"
    with served(tmp_path / "requests.log", outages=[[40, 3600.0, HOST]], **NUMBERS) as port:
        project(folder, port, patience=2.0, retries=2)
        code, said = finish(start(folder))
    assert code == 0, said
    assert "hosts that do not answer" in said
    some = pages_of(folder)
    assert 0 < len(some) < len(undisturbed)
    assert lost(folder) == []
    with served(tmp_path / "requests.log", port=port, **NUMBERS):
        code, said = finish(start(folder))
    assert code == 0, said
    assert sorted(pages_of(folder)) == undisturbed
