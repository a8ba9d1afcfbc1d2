"""Some of the hostile kinds, met by a crawl beside good hosts. `make faults` meets all of them, and measures."""

from __future__ import annotations

from pathlib import Path

from bench.faults import CrawlSettings, crawl_good, hostile_web

from forager_lab.webs.hostile import KINDS, judged, reports
from forager_lab.webs.server.log import read_log

QUICK = CrawlSettings(delay=0.02, patience=1.0, seconds=120.0)
SOME = [
    "private-links",
    "private-redirect",
    "private-robots",
    "private-frames",
    "rebinding",
    "half-inside",
    "head-garbage",
    "length-twice",
    "header-long",
    "endless-headers",
    "bomb-gzip",
    "bomb-zstd",
    "gzip-cut",
    "length-short",
    "type-film",
    "refused",
    "busy-429",
    "status-404",
    "tls-plain",
    "redirect-self",
    "redirect-chain",
    "redirect-hosts",
    "redirect-file",
    "redirect-one",
    "robots-multiply",
    "robots-closed",
    "robots-busy",
    "robots-victim",
    "robots-chain",
    "noindex",
    "nofollow",
    "refresh-loop",
    "sitemap",
    "sitemap-loop",
    "feed",
    "feed-endless",
    "bytes-random",
    "bytes-nul",
    "title-escape",
    "url-markup",
    "utf-16",
]


def test_a_crawl_beside_hostile_hosts_ends_by_itself_with_the_right_outcome_for_each(tmp_path: Path) -> None:
    kinds = {name: KINDS[name] for name in SOME}
    with hostile_web(tmp_path / "hostile.log", SOME) as (listeners, intruders):
        seeds = [seed.format(port=listeners.port) for kind in kinds.values() for seed in kind.seeds]
        ran = crawl_good(tmp_path / "all", QUICK, seeds, listeners.resolve())
    found = reports(tmp_path / "all", read_log(tmp_path / "hostile.log"))
    wrong = {name: judged(kind, found[name], listeners.port)[1] for name, kind in kinds.items()}
    assert {name: reasons for name, reasons in wrong.items() if reasons} == {}
    assert intruders == [0]
    assert ran.code == 0
    assert "seconds" not in ran.stats["stopped"]
    assert ran.stats["pages"] >= 100  # the good hosts' are among them
