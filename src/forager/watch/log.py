"""The log of a crawl: a line for each event, with its time, its level, its name, and facts.

2026-11-17T12:04:10.123Z INFO    host rests  host=example.org seconds=3600 reason=busy

The file is PROJECT/log/forager.log. When it is full, it becomes forager.log.1, and a new one begins. A log never stops
a crawl: what cannot be written is told once on stderr.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging import DEBUG, ERROR, INFO, WARNING, Handler, LogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from forager.config import CrawlConfig, LogConfig
from forager.errors import plain

FOLDER, FILE = "log", "forager.log"
LONGEST = 2_000  # characters of a fact
SHORTEST = 4  # characters of a secret that is looked for: shorter ones would be found everywhere
SILENCE = ERROR + 1  # the level of a log to which nobody listens
_BARE = re.compile(r"""[^\s"=]+""")  # values that need no quotes
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
Level: TypeAlias = Literal["debug", "info", "warning", "error"]


class CrawlLog:
    """Where a crawl tells what happens: `log.info("host rests", host="a.test", seconds=60)`.

    Facts are numbers and text. A log without a file and without listeners takes no time. `hidden` are texts that are
    never written: passwords and the like.

    >>> log = CrawlLog(hidden=["s3cret"])
    >>> log.listen(lambda line: print(line[25:]), "warning")
    >>> log.info("nobody hears this")
    >>> log.warning("login failed", url="http://a.test/", sent="name=me&word=s3cret")
    WARNING login failed  url=http://a.test/ sent="name=me&word=***"
    """

    def __init__(self, hidden: Collection[str] = ()) -> None:
        self._hidden = [text for text in hidden if len(text) >= SHORTEST]
        self._handlers: list[Handler] = []
        self._least = SILENCE

    def debug(self, event: str, **facts: object) -> None:
        if self._least <= DEBUG:
            self._tell(DEBUG, event, facts)

    def info(self, event: str, **facts: object) -> None:
        if self._least <= INFO:
            self._tell(INFO, event, facts)

    def warning(self, event: str, **facts: object) -> None:
        if self._least <= WARNING:
            self._tell(WARNING, event, facts)

    def error(self, event: str, **facts: object) -> None:
        if self._least <= ERROR:
            self._tell(ERROR, event, facts)

    def listen(self, tell: Callable[[str], None], level: Level) -> None:
        """From now on, `tell` is also told each line from this level on."""
        self._add(_Listener(tell), level, json=False)

    def write(self, folder: Path, config: LogConfig) -> None:
        """From now on, the lines also go to a file in this folder."""
        kept = config.files - 1  # beside the one that is written
        file = _LogFile(folder / FILE, maxBytes=config.size, backupCount=kept, encoding="utf-8", delay=True)
        self._add(file, config.level, json=config.json)

    def close(self) -> None:
        """Close the file. Nobody is told anything any more."""
        for handler in self._handlers:
            with suppress(OSError):  # the disk is full
                handler.close()
        self._handlers, self._least = [], SILENCE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, handler: Handler, level: Level, *, json: bool) -> None:
        handler.setLevel(level.upper())
        handler.setFormatter(_Line(self._hidden, json=json))
        self._handlers.append(handler)
        self._least = min(self._least, handler.level)

    def _tell(self, level: int, event: str, facts: Mapping[str, object]) -> None:
        record = LogRecord("forager", level, "", 0, event, (facts,), None)
        for handler in self._handlers:
            if level >= handler.level:
                handler.handle(record)


def open_log(folder: Path, config: CrawlConfig) -> CrawlLog:
    """The log of a project. Only who holds the lock of the project may open it."""
    log = CrawlLog(secrets_of(config))
    log.write(folder / FOLDER, config.log)
    return log


def secrets_of(config: CrawlConfig) -> list[str]:
    """The values that the configuration takes from the environment."""
    fetch = config.fetch
    texts = [fetch.proxy, config.refresh.webhook, *(header.value for header in fetch.headers)]
    texts += [text for login in fetch.logins for text in login.fields.values()]
    found = [os.environ.get(name, "") for text in texts for name in _VARIABLE.findall(text)]
    return [value for value in found if value]


class _Line(logging.Formatter):
    """One line from one event."""

    def __init__(self, hidden: Collection[str], *, json: bool) -> None:
        super().__init__()
        self._hidden, self._json = hidden, json

    def format(self, record: LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = dict(self._facts(record))
        head = {"time": time.replace("+00:00", "Z"), "level": record.levelname, "event": plain(str(record.msg))}
        if self._json:
            return json.dumps({**head, "level": record.levelname.lower(), **facts}).replace("\x7f", "\\u007f")
        told = " ".join(f"{key}={_quoted(value)}" for key, value in facts.items())
        return f"{head['time']} {record.levelname:<7} {head['event']}{f'  {told}' if told else ''}"

    def _facts(self, record: LogRecord) -> Iterator[tuple[str, Any]]:
        facts = record.args if isinstance(record.args, Mapping) else {}  # logging unpacks a single mapping
        for key, value in facts.items():
            yield key, value if isinstance(value, int) else self._number(value) or self._text(value)

    def _number(self, value: object) -> float | None:
        return round(value, 6) if isinstance(value, float) and math.isfinite(value) else None

    def _text(self, value: object) -> str:
        text = str(value)
        for secret in self._hidden:
            text = text.replace(secret, "***")
        return plain(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def _quoted(value: object) -> str:
    text = str(value)
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)


class _Listener(Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: LogRecord) -> None:
        try:
            self._tell(self.format(record))
        except Exception:  # a log never stops a crawl
            self.handleError(record)

    def handleError(self, record: LogRecord) -> None:  # noqa: N802 - logging's name
        """Who does not listen is not told."""


class _LogFile(RotatingFileHandler):
    """A file that says once that it cannot be written."""

    _told = False

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(exist_ok=True)
        return super()._open()

    def shouldRollover(self, record: LogRecord) -> bool:  # noqa: N802 - logging's name
        """Whether the file is full. To know that before the line, logging would make each line twice."""
        self.stream = stream = self.stream or self._open()
        return os.fstat(stream.fileno()).st_size >= self.maxBytes

    def handleError(self, record: LogRecord) -> None:  # noqa: N802 - logging's name
        if not self._told and sys.stderr:
            self._told = True
            print(plain(f"forager: {self.baseFilename} cannot be written: {sys.exc_info()[1]}"), file=sys.stderr)
