"""The log of a crawl: one line an event, rotated, without secrets; and never in the way of the crawl."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.config import CrawlConfig, FetchConfig, HeaderConfig, LogConfig, LoginConfig, RefreshConfig
from forager.watch import CrawlLog, open_log
from forager.watch.log import secrets_of

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) +\S.*")


def lines(folder: Path) -> list[str]:
    return (folder / "log" / "forager.log").read_text(encoding="utf-8").splitlines()


def test_one_line_an_event_with_time_level_name_and_facts(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    with open_log(tmp_path, CrawlConfig()) as log:
        log.info("session began", pages=12, version="0.2.0")
        log.warning("host rests", host="a.test", seconds=3600.0, reason="busy", detail='said "no" = no')
        log.debug("nobody wants to know")
        log.error("store full")
    first, second, third = lines(tmp_path)
    assert all(LINE.fullmatch(line) for line in (first, second, third))
    assert before.replace(microsecond=0) <= datetime.fromisoformat(first[:24])
    assert first[24:] == " INFO    session began  pages=12 version=0.2.0"
    assert second[24:] == r' WARNING host rests  host=a.test seconds=3600.0 reason=busy detail="said \"no\" = no"'
    assert third[24:] == " ERROR   store full"


def test_json_by_choice(tmp_path: Path) -> None:
    config = CrawlConfig(log=LogConfig(json=True, level="debug"))
    with open_log(tmp_path, config) as log:
        log.debug("miss", url="http://a.test/", tries=2, nothing=None, share=float("nan"), asked=True, text="é\x7f\x1b")
    (row,) = map(json.loads, lines(tmp_path))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", row.pop("time"))
    facts = {"url": "http://a.test/", "tries": 2, "nothing": "None", "share": "nan", "asked": True, "text": "é  "}
    assert row == {"level": "debug", "event": "miss", **facts}
    assert lines(tmp_path)[0].isascii()


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_only_what_is_important_enough(level: Any, tmp_path: Path) -> None:
    heard: list[str] = []
    with open_log(tmp_path, CrawlConfig(log=LogConfig(level=level))) as log:
        log.listen(heard.append, "debug")
        for name in ("debug", "info", "warning", "error"):
            getattr(log, name)("event")
    names = ["debug", "info", "warning", "error"]
    assert [line.split()[1].lower() for line in lines(tmp_path)] == names[names.index(level) :]
    assert [line.split()[1].lower() for line in heard] == names


def test_a_full_file_gives_way_and_few_are_kept(tmp_path: Path) -> None:
    with open_log(tmp_path, CrawlConfig(log=LogConfig(size=10_000, files=3))) as log:
        for number in range(1_000):
            log.info("event", number=number, text="x" * 60)
    files = sorted(file.name for file in (tmp_path / "log").iterdir())
    assert files == ["forager.log", "forager.log.1", "forager.log.2"]
    assert all(file.stat().st_size < 10_000 + 200 for file in (tmp_path / "log").iterdir())
    assert lines(tmp_path)[-1].endswith(f"number=999 text={'x' * 60}")


def test_a_second_session_goes_on_in_the_same_file(tmp_path: Path) -> None:
    for number in (1, 2):
        with open_log(tmp_path, CrawlConfig()) as log:
            log.info("session began", number=number)
    assert [line[-1] for line in lines(tmp_path)] == ["1", "2"]


def test_what_cannot_be_written_is_told_once_and_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_text("a file where the folder should be")
    heard: list[str] = []
    with open_log(tmp_path, CrawlConfig()) as log:
        log.listen(heard.append, "info")
        for _ in range(3):
            log.info("event")
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert re.fullmatch(r"forager: .*forager\.log cannot be written: .*\n", told)
    assert len(heard) == 3


def test_a_full_disk_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "forager.log").symlink_to("/dev/full")
    with open_log(tmp_path, CrawlConfig()) as log:
        for _ in range(3):
            log.info("event")
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_facts_and_listeners_that_fail_stop_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Bad:
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def deaf(line: str) -> None:
        raise OSError("gone")

    with open_log(tmp_path, CrawlConfig()) as log:
        log.listen(deaf, "info")
        log.info("event", bad=Bad())
        log.info("event", good=1)
    assert [line[24:] for line in lines(tmp_path)] == [" INFO    event  good=1"]
    assert "no words" in capsys.readouterr().err


def test_a_closed_log_and_one_without_listeners_say_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path, CrawlConfig())
    log.info("event")
    log.close()
    log.error("event")
    assert len(lines(tmp_path)) == 1
    CrawlLog().error("event")


SECRETIVE = CrawlConfig(
    fetch=FetchConfig(
        proxy="http://me:$PROXY_WORD@proxy.test",
        headers=(HeaderConfig(hosts=("a.test",), name="Authorization", value="Bearer ${TOKEN}"),),
        logins=(
            LoginConfig(hosts=("a.test",), url="http://a.test/", fields={"user": "$SHORT", "pass": "$LOGIN_WORD"}),
        ),
    ),
    refresh=RefreshConfig(webhook="https://hooks.test/$HOOK"),
)


@pytest.mark.parametrize("as_json", [False, True])
def test_secrets_of_the_environment_are_never_written(
    as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {"PROXY_WORD": 'pro"xy\\', "TOKEN": "tök en", "LOGIN_WORD": "x=y&z", "HOOK": "h00k", "SHORT": "me"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    assert sorted(secrets_of(SECRETIVE)) == sorted(secrets.values())
    config = CrawlConfig(fetch=SECRETIVE.fetch, refresh=SECRETIVE.refresh, log=LogConfig(json=as_json))
    with open_log(tmp_path, config) as log:
        for value in secrets.values():
            log.info("event", text=f"before {value} after", longer="x" * 1990 + value + "x" * 100)
    told = "\n".join(lines(tmp_path))
    assert told.count("before *** after") == 4
    assert not [value for value in ("pro", "tök", "t\\u00f6k", "x=y", "h00k") if value in told]
    assert told.count("before me after") == 1  # two letters are not looked for: they would be found everywhere


@given(st.text(), st.text() | st.integers() | st.floats() | st.none() | st.binary(), st.booleans())
def test_any_event_is_one_printable_line(event: str, fact: object, as_json: bool) -> None:
    heard: list[str] = []
    log = CrawlLog()
    log.listen(heard.append, "debug")
    log.info(event, fact=fact)
    (line,) = heard
    assert line.isprintable()
