"""Would a crawl work here? What is installed, whether the guard is on, and whether this folder can be written."""

from __future__ import annotations

import os
import platform
import re
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from forager.config import RenderConfig
from forager.errors import ForagerError
from forager.fetch.browser import browser_version, check_browser
from forager.fetch.guard import ForbiddenError, Guard
from forager.store.lock import refuse_network

PACKAGE = "forager"
FOR_DEVELOPERS = {"dev", "docs"}  # extras for those who work on Forager itself
PRIVATE = ("127.0.0.1", "10.0.0.1", "169.254.169.254")  # addresses that a crawl must not reach
PUBLIC = "93.184.215.14"
FEWEST_FILES = 256  # a crawl has up to 64 connections, and files of its own
_NAME, _LEAST = re.compile(r"[\w.-]+"), re.compile(r">=\s*([\w.]+)")
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w.-]+)""")


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that was checked."""

    name: str
    ok: bool
    found: str
    cure: str = ""  # what to do, if it is not ok
    needed: bool = True  # a crawl does not work without it


def health_checks(folder: Path) -> Iterator[HealthCheck]:
    """All checks, one after the other; `folder` is where a crawl would write."""
    yield HealthCheck("python", True, f"{platform.python_version()} ({sys.executable})")
    yield HealthCheck(PACKAGE, True, version(PACKAGE))
    yield from _packages()
    yield _browser()
    yield _guard()
    yield _writing(folder)
    yield from _sqlite()
    yield _open_files()


def _packages() -> Iterator[HealthCheck]:
    """The packages that Forager needs, and its extras."""
    needed = _requirements()
    for name, least in needed.pop("", []):
        problem = _missing(name, least)
        cure = f"install it with pip install '{name}{f'>={least}' if least else ''}'" if problem else ""
        yield HealthCheck(name, not problem, problem or version(name), cure)
    for extra in sorted(needed.keys() - FOR_DEVELOPERS):
        problems = [f"{name} {problem}" for name, least in needed[extra] if (problem := _missing(name, least))]
        cure = f"install it with pip install '{PACKAGE}[{extra}]'" if problems else ""
        there = ", ".join(f"{name} {version(name)}" for name, _ in needed[extra] if not _missing(name, ""))
        yield HealthCheck(f"extra {extra}", not problems, ", ".join(problems) or there, cure, needed=False)


def _requirements() -> dict[str, list[tuple[str, str]]]:
    """Name and least version of each package that Forager asks for, by extra; those it always needs under ""."""
    found: dict[str, list[tuple[str, str]]] = {}
    for requirement in requires(PACKAGE) or ():
        wanted, _, condition = requirement.partition(";")
        name, least, extra = _NAME.match(wanted), _LEAST.search(wanted), _EXTRA.search(condition)
        if name:
            found.setdefault(extra[1] if extra else "", []).append((name[0], least[1] if least else ""))
    return found


def _missing(name: str, least: str) -> str:
    """What is wrong with a package; "" if it is there and new enough."""
    try:
        found = version(name)
    except PackageNotFoundError:
        return "not installed"
    return f"{found} is older than {least}" if _numbers(found) < _numbers(least) else ""


def _numbers(text: str) -> tuple[int, ...]:
    leading = re.match(r"[\d.]*", text)
    return tuple(int(part) for part in (leading[0] if leading else "").split(".") if part)


def _browser() -> HealthCheck:
    """A browser is needed only to render pages."""
    try:
        return HealthCheck("browser", True, browser_version(check_browser(RenderConfig())))
    except ForagerError as error:
        return HealthCheck("browser", False, str(error), needed=False)


def _guard() -> HealthCheck:
    """Ask the guard for sockets to private addresses, which it must refuse, and to a public one."""
    guard = Guard()
    open_ones = [address for address in PRIVATE if not _refuses(guard, address)]
    if open_ones or _refuses(guard, PUBLIC):
        wrong = f"lets crawls reach {', '.join(open_ones)}" if open_ones else f"refuses {PUBLIC}, which is public"
        return HealthCheck("network guard", False, wrong, f"reinstall {PACKAGE}")
    return HealthCheck("network guard", True, "on: private addresses are refused")


def _refuses(guard: Guard, address: str) -> bool:
    try:
        guard.socket((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, 80))).close()
    except ForbiddenError:
        return True
    return False


def _writing(folder: Path) -> HealthCheck:
    """Write a file and remove it."""
    place = folder.resolve()
    try:
        refuse_network(place)
        with tempfile.NamedTemporaryFile(dir=place, prefix=".forager-doctor-") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
    except ForagerError as error:
        return HealthCheck("writing", False, str(error))
    except OSError as error:
        return HealthCheck("writing", False, f"{place}: {error.strerror}", "choose a folder that you can write to")
    return HealthCheck("writing", True, f"{place} (network file systems are refused)")


def _sqlite() -> Iterator[HealthCheck]:
    yield HealthCheck("sqlite", True, sqlite3.sqlite_version)
    try:
        with closing(sqlite3.connect(":memory:")) as db:
            db.execute("CREATE VIRTUAL TABLE page USING fts5(text)")
    except sqlite3.Error as error:
        cure = "use a Python whose SQLite has FTS5; without it `forager search` does not work"
        yield HealthCheck("sqlite fts5", False, str(error), cure, needed=False)
    else:
        yield HealthCheck("sqlite fts5", True, "full-text search works")


def _open_files() -> HealthCheck:
    try:
        import resource
    except ImportError:  # Windows
        return HealthCheck("open files", True, "this system sets no limit")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = soft == resource.RLIM_INFINITY or soft >= FEWEST_FILES
    found = "no limit" if soft == resource.RLIM_INFINITY else f"{soft} at once"
    return HealthCheck("open files", enough, found, "" if enough else f"allow {FEWEST_FILES} with ulimit -n 1024")
