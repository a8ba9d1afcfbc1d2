"""A Chromium that has no network of its own.

A page is a stranger's program. It can try to reach any address, and there are more ways to try than can be listed:
scripts, pictures, frames, sockets, workers, forms, redirects, hints to connect early. So its requests are not filtered
one kind after the other. The browser is walled in:

- It finds no name and no address: its resolver says "not found" to all of them.
- All it has for a way out is a proxy that does not exist.
- What needs neither is switched off: WebRTC sends nothing, and is taken from the pages besides, as WebTransport is.

Each of the first two is enough for all that goes through the browser's network stack. What a page asks for comes to us
by Playwright's routes, before it gets that far. We ask for it ourselves, with our guard and our limits
(subrequests.py), and hand the answer in. Routes alone would be no guard: Playwright lets some requests pass them, such
as redirects, sockets and hints. Those end at the wall.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from forager.errors import ForagerError

if TYPE_CHECKING:  # an extra, and slow to import
    from playwright.async_api import Browser, BrowserContext, CDPSession

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
ELSEWHERE = (  # where it is not in the path: on macOS, and where Playwright puts its own
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "~/.cache/ms-playwright/chromium-*/chrome-linux*/chrome",
    "~/Library/Caches/ms-playwright/chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
NOWHERE = "http://nowhere.invalid:1"  # a proxy; names under .invalid never exist
ARGUMENTS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its name in older versions
    *("--disable-quic", "--dns-prefetch-disable", "--disable-gpu", "--disable-3d-apis"),
    "--js-flags=--max-old-space-size=512",  # MB of a script's own memory
)
WITHOUT = (
    """for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) delete globalThis[name]"""
)
ENVIRONMENT = ("HOME", "LANG", "PATH", "TMPDIR", "XDG_RUNTIME_DIR")  # that the browser sees; the rest may have secrets
MEMORY = 1_000_000_000  # bytes that a process of the browser may hold
LOOK = 0.25  # seconds between two looks at the memory
STARTING, CLOSING = 30.0, 5.0  # seconds that these may take
VERSION_SECONDS = 20.0
_PROFILE = re.compile(r"--user-data-dir=(\S*/playwright_\S+)")


class BrowserSettings(Protocol):
    """Which browser to use."""

    @property
    def browser(self) -> str:
        """A program; "": the one that is found."""


def check_browser(settings: BrowserSettings) -> str:
    """The program that renders pages. A ForagerError says what to install, if something is missing."""
    if find_spec("playwright") is None:
        raise ForagerError("to render pages, install Playwright: pip install 'forager[render]'")
    if settings.browser:
        program = shutil.which(settings.browser)
        if program is None:
            raise ForagerError(f"[render] browser = {settings.browser!r} is no program; leave it out, or name Chromium")
        return program
    found = next(_programs(), None)
    if found is None:
        raise ForagerError(
            "to render pages, install Chromium, for example with apt-get install chromium, or name it: "
            '[render] browser = "/path/to/chromium"'
        )
    return found


def browser_version(program: str) -> str:
    """What a browser says of itself. A ForagerError if it cannot be started."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ForagerError(f"{program} does not start: {error}") from None
    return " ".join(done.stdout.split()) or program


def _programs() -> Iterator[str]:
    for name in PROGRAMS:
        if program := shutil.which(name):
            yield program
    for pattern in ELSEWHERE:
        place = Path(pattern).expanduser()
        yield from (str(path) for path in sorted(Path(place.anchor).glob(str(place.relative_to(place.anchor)))))


class Chromium:
    """A running browser. When it dies, another one must be started."""

    def __init__(self, browser: Browser, session: CDPSession, pid: int, profile: str, parts: AsyncExitStack) -> None:
        self._browser, self._session, self._pid, self._profile, self._parts = browser, session, pid, profile, parts
        self._pages, self._ended = 0, False  # pages under way
        self.killed = 0  # processes that took too much memory
        self._watch = asyncio.create_task(self._watch_memory())

    @classmethod
    async def start(cls, program: str) -> Chromium:
        """Start a browser. An error of Playwright, or TimeoutError, if it does not start."""
        from playwright.async_api import async_playwright

        async with AsyncExitStack() as stack:
            playwright = await stack.enter_async_context(async_playwright())
            browser = await playwright.chromium.launch(
                executable_path=program,
                args=ARGUMENTS,
                ignore_default_args=["--disable-popup-blocking"],
                proxy={"server": NOWHERE, "bypass": "<-loopback>"},
                chromium_sandbox=_can_sandbox(),
                env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
                timeout=STARTING * 1000,
            )
            session = await browser.new_browser_cdp_session()
            pid = next(pid for kind, pid in await _processes(session) if kind == "browser")
            profile = _PROFILE.search((await session.send("SystemInfo.getInfo"))["commandLine"])
            return cls(browser, session, pid, profile[1] if profile else "", stack.pop_all())

    @property
    def alive(self) -> bool:
        return self._browser.is_connected() and not self._ended

    async def answers(self) -> bool:
        """Whether it still works. If not, it is ended."""
        with suppress(Exception):
            async with asyncio.timeout(CLOSING):
                await _processes(self._session)
                return self.alive
        self.kill()
        return False

    async def open(self, agent: str) -> BrowserContext:
        """A place for one page: without a past, and the same for every page."""
        context = await self._browser.new_context(
            user_agent=agent,
            locale="en-US",
            timezone_id="UTC",
            viewport={"width": 1280, "height": 1024},
            color_scheme="light",
            reduced_motion="reduce",
            service_workers="block",
            accept_downloads=False,
        )
        self._pages += 1
        await context.add_init_script(WITHOUT)
        return context

    async def close(self, context: BrowserContext) -> None:
        """Forget a page. If the browser does not manage that, it dies."""
        self._pages -= 1
        try:
            async with asyncio.timeout(CLOSING):
                await context.close()
        except Exception:
            self.kill()

    def kill(self) -> None:
        if self.alive:
            _kill(self._pid)
        self._ended = True

    async def aclose(self) -> None:
        """End the browser, whatever state it is in."""
        self._watch.cancel()
        try:
            async with asyncio.timeout(CLOSING):
                await self._browser.close()
        except Exception:
            self.kill()
        with suppress(Exception):
            async with asyncio.timeout(CLOSING):
                await self._parts.aclose()
        if self._profile:  # Playwright's, who fails to remove it if the browser still writes
            await asyncio.to_thread(shutil.rmtree, self._profile, ignore_errors=True)

    async def _watch_memory(self) -> None:
        """Kill processes that take too much memory. A page sees that as a crash."""
        with suppress(Exception):  # the browser has ended
            while True:
                await asyncio.sleep(LOOK)
                if not self._pages:
                    continue
                for _, pid in await _processes(self._session):
                    if _memory(pid) > MEMORY:
                        self.killed += 1
                        _kill(pid)


async def _processes(session: CDPSession) -> list[tuple[str, int]]:
    """Kind and id of the processes of a browser."""
    told = await session.send("SystemInfo.getProcessInfo")
    return [(row["type"], int(row["id"])) for row in told["processInfo"]]


def _memory(pid: int) -> int:
    """Bytes that a process holds. 0 where the system does not tell: only Linux does, in a file."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _kill(pid: int) -> None:
    with suppress(OSError):  # it has ended
        os.kill(pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


def _can_sandbox() -> bool:
    """Chromium refuses to sandbox pages for root."""
    return sys.platform == "win32" or os.geteuid() != 0
