"""Pages that scripts make are found. Whatever a page tries, its browser reaches nobody but through our guard."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from forager.clock import WallClock
from forager.config import FetchConfig, RenderConfig
from forager.errors import ForagerError
from forager.fetch import browser, tab
from forager.fetch.browser import browser_version, check_browser
from forager.fetch.render import FEW_WORDS, Renderer, make_renderer
from forager.fetch.tab import LARGEST
from forager.types import Answer, Exchange, Failure, Fetch, Page, Reason, Redirect, Url
from forager.web.page import parse
from forager.web.urls import RULES
from tests.fetch.wire import CONTACT, Wire, page

T = TypeVar("T")
SCRIPT = "text/javascript"


def _missing() -> str:
    try:
        check_browser(RenderConfig())
    except ForagerError as error:
        return str(error)
    return ""


needs_browser = pytest.mark.skipif(bool(_missing()), reason=_missing())


@dataclass
class Stage:
    """A browser, a site whose pages it is shown, and a listener that must see nobody."""

    runner: asyncio.Runner
    site: Wire
    canary: Wire
    renderer: Renderer
    robots: set[str]  # URLs that robots.txt forbids

    def show(self, *bodies: str | bytes, path: str = "/", **options: Any) -> list[Answer]:
        """What becomes of these pages of the site."""

        async def all_of_them() -> list[Answer]:
            fetches = [Fetch(self.url(path), _bytes(body), **options) for body in bodies]
            return list(await asyncio.gather(*map(self.renderer.render, fetches)))

        return self.runner.run(all_of_them())

    def pages(self, *bodies: str | bytes, **options: Any) -> list[Page]:
        """The pages that the browser makes of them."""
        found = [parse(answer) if isinstance(answer, Fetch) else answer for answer in self.show(*bodies, **options)]
        assert all(isinstance(each, Page) for each in found), found
        return [each for each in found if isinstance(each, Page)]

    def texts(self, *bodies: str | bytes, **options: Any) -> list[str]:
        return [" ".join(" ".join(page.leaves).split()) for page in self.pages(*bodies, **options)]

    def failure(self, body: str | bytes) -> tuple[Reason, str]:
        (answer,) = self.show(body)
        assert isinstance(answer, Failure), answer
        assert answer.url == self.url("/")
        return answer.reason, answer.detail

    def url(self, path: str) -> Url:
        found = RULES.canonical(f"http://site.web.test{path}")
        assert found
        return found

    def asked(self) -> list[str]:
        """The paths that the site was asked for since the last time."""
        paths = [head.split(b" ")[1].decode() for head in self.site.requests]
        self.site.requests.clear()
        return paths


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


@contextmanager
def staged(settings: RenderConfig, **fetch: Any) -> Iterator[Stage]:
    forbidden: set[str] = set()

    async def allowed(url: Url) -> bool:
        return url not in forbidden

    with asyncio.Runner() as runner, ExitStack() as stack:

        def enter(part: AbstractAsyncContextManager[T]) -> T:
            stack.callback(lambda: runner.run(part.__aexit__(None, None, None)))
            return runner.run(_entered(part))

        site, canary = enter(Wire({})), enter(Wire({"*": page(b"secret", "Access-Control-Allow-Origin: *")}))
        config = FetchConfig(contact=CONTACT, resolve={"*.web.test": f"127.0.0.1:{site.port}"}, **fetch)
        lookup = ["127.0.0.1", "::1", "10.0.0.1"]
        renderer = enter(Renderer(settings, config, allowed=allowed, lookup=lambda host: lookup))
        yield Stage(runner, site, canary, renderer, forbidden)


async def _entered(part: AbstractAsyncContextManager[T]) -> T:
    return await part.__aenter__()


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """With time enough for every page, also on a busy machine."""
    with staged(RenderConfig(seconds=60, requests=40, at_once=4)) as made:
        yield made


@pytest.fixture(scope="module")
def strict() -> Iterator[Stage]:
    """For pages that do not come to an end, or to a good one."""
    with staged(RenderConfig(seconds=4, requests=40, at_once=3), largest=100_000) as made:
        yield made


# ---- what a browser is for ------------------------------------------------------------------------------------------


@needs_browser
def test_a_page_made_by_script_is_found(stage: Stage) -> None:
    stage.site.replies["/app.js"] = page(
        b"""fetch('/api/owls.json').then(answer => answer.json()).then(owls => {
          document.title = 'Owls';
          document.getElementById('root').innerHTML =
            owls.map(owl => `<p>${owl} is an owl.</p><a href="/owl/${owl}">${owl}</a>`).join('')
        })""",
        kind=SCRIPT,
    )
    stage.site.replies["/api/owls.json"] = page('["Tyto", "Strix", "Ünglück"]'.encode(), kind="application/json")
    shell = "<!DOCTYPE html><meta charset=latin1><div id=root></div><noscript>Use scripts</noscript>"
    shell += "<script src=/app.js></script>"
    static = parse(Fetch(stage.url("/owls/"), shell.encode()))
    assert isinstance(static, Page)
    assert not static.links.targets
    (found,) = stage.pages(shell, path="/owls/")
    assert (found.url, found.title) == (stage.url("/owls/"), "Owls")
    assert "Strix is an owl." in found.leaves
    assert "Ünglück is an owl." in found.leaves
    assert "Use scripts" not in " ".join(found.leaves)
    assert found.links.targets == tuple(stage.url(f"/owl/{name}") for name in ("Tyto", "Strix", "%C3%9Cngl%C3%BCck"))
    assert stage.asked() == ["/app.js", "/api/owls.json"]  # not the page again


@needs_browser
def test_what_scripts_do_late_and_in_shadow(stage: Stage) -> None:
    body = """<p>light</p><div id=host></div><script>
        customElements.define('my-card', class extends HTMLElement {
          connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<p>in a card<a href=/deep>deep</a>' }
        });
        document.getElementById('host').attachShadow({mode: 'open'}).innerHTML = '<p>in shadow</p><my-card></my-card>';
        setTimeout(() => document.body.append('late'), 200);
        addEventListener('load', () => document.body.append('loaded'));
    </script>"""
    (found,) = stage.pages(body)
    text = " ".join(found.leaves)
    assert all(part in text for part in ("light", "in shadow", "in a card", "late", "loaded"))
    assert found.links.targets == (stage.url("/deep"),)


@needs_browser
def test_the_url_stays_whatever_the_history_says(stage: Stage) -> None:
    (found,) = stage.pages(
        "<script>history.pushState({}, '', '/other/place'); document.write('<a href=there>x</a>')</script>"
    )
    assert found.url == stage.url("/")
    assert found.links.targets == (stage.url("/other/there"),)


LEAVING = [
    "location = '/next'",
    "location.replace('/next#part')",
    "document.head.innerHTML = '<meta http-equiv=refresh content=\"0; url=/next\">'",
    "document.write('<form action=/next></form>'); document.forms[0].submit()",
    "document.write('<a href=/next>x</a>'); document.links[0].click()",
]


@needs_browser
def test_a_page_that_goes_elsewhere_is_a_redirect(stage: Stage) -> None:
    answers = stage.show(*[f"<head></head><body><script>{script}</script>" for script in LEAVING])
    assert answers == [Redirect(stage.url("/"), stage.url("/next"), seconds=answer.seconds) for answer in answers]
    assert stage.asked() == []


@needs_browser
def test_a_page_that_loads_itself_again_or_sends_a_form_stays(stage: Stage) -> None:
    form = "<p>here<form method=post action=/buy></form><script>document.forms[0].submit()</script>"
    assert stage.texts("<p>here<script>location.reload()</script>", form) == ["here", "here"]
    assert stage.asked() == []


@needs_browser
def test_charset_status_and_policy_of_the_first_answer_hold(stage: Stage) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Security-Policy: script-src 'none'\r\nContent-Disposition: attachment\r\n\r\n"
    body = "<p>grün<script>document.body.append('ran')</script>".encode("latin-1")
    (answer,) = stage.show(body, charset="iso-8859-1", exchange=Exchange(b"", head))
    assert isinstance(answer, Fetch)
    assert answer.exchange == Exchange(b"", head)
    assert "<p>grün<script>" in answer.body.decode()
    assert b"ran</" not in answer.body


@needs_browser
def test_only_what_makes_text_is_asked_for(stage: Stage) -> None:
    body = """<link rel=stylesheet href=/style.css><link rel=icon href=/icon.ico><link rel=prefetch href=/prefetched>
      <link rel=preload as=font href=/a.woff2><img src=/picture.png><iframe src=/frame></iframe>
      <video src=/film></video><object data=/object></object><script src=/one.js></script><script>
        document.querySelector('[rel=stylesheet]').sheet && document.body.append('styled');
        navigator.sendBeacon('/beacon', 'x'); new EventSource('/events');
        const say = text => document.body.append(text), form = {method: 'POST', body: 'a=1', mode: 'no-cors'};
        fetch('/put', {method: 'PUT', body: 'x'}).catch(() => say('no put'));
        fetch('http://other.test/', form).catch(() => say('no post'));
        fetch('/post', form).then(answer => answer.text()).then(say);
      </script>"""
    stage.site.replies.update({"/one.js": page(b"", kind=SCRIPT), "/post": page(b"posted")})
    (text,) = stage.texts(body)
    assert "styled" in text  # an empty sheet
    assert "no put" in text
    assert "no post" in text
    assert "posted" in text
    assert sorted(stage.asked()) == ["/one.js", "/post"]


@needs_browser
def test_who_we_are_and_no_more(stage: Stage) -> None:
    stage.site.replies["/who"] = page(b"x", "Set-Cookie: id=1")
    stage.site.replies["//cdn.web.test/who"] = page(b"x")
    body = """<script>document.cookie = 'mine=1';
      const headers = {'X-Mine': '1', 'Authorization': 'Bearer x', 'Accept': 'application/json'};
      fetch('/who', {headers}).then(() => fetch('/who', {headers}))
        .then(() => fetch('http://cdn.web.test/who', {headers})).catch(() => document.body.append('not told'))
        .then(() => document.body.append(navigator.userAgent, navigator.language, new Date().getTimezoneOffset()));
    </script>"""
    (text,) = stage.texts(body)
    assert "Forager/" in text
    assert "en-US0" in text.replace(" ", "")
    assert "not told" in text  # that origin lets nobody read
    heads = [head.decode().lower() for head in stage.site.requests]
    assert len(stage.asked()) == 3
    for head in heads:
        assert "user-agent: forager/" in head
        assert "accept: application/json" in head
        assert not any(word in head for word in ("cookie", "authorization", "sec-", "headless"))
    assert "x-mine" in heads[0]
    assert "x-mine" not in heads[2]


@needs_browser
def test_robots_txt_holds_for_scripts_and_after_redirects(stage: Stage) -> None:
    stage.site.replies["/moved"] = page(b"", "Location: /hidden/2", status="302 Found")
    stage.robots |= {stage.url("/hidden/1"), stage.url("/hidden/2")}
    before = stage.renderer.refused[Reason.ROBOTS]
    stage.texts("<script>fetch('/hidden/1'); fetch('/moved')</script>")
    assert stage.asked() == ["/moved"]
    assert stage.renderer.refused[Reason.ROBOTS] == before + 2


@needs_browser
def test_scripts_are_kept_and_answers_are_not(stage: Stage) -> None:
    stage.site.replies["/shared.js"] = page(b"fetch('/fresh')", kind=SCRIPT)
    stage.site.replies["/unshared.js"] = page(b"", "Cache-Control: no-store", kind=SCRIPT)
    stage.site.replies["/fresh"] = page(b"x")
    for _ in range(2):
        stage.texts("<script src=/shared.js></script><script src=/unshared.js></script>")
    assert sorted(stage.asked()) == ["/fresh", "/fresh", "/shared.js", "/unshared.js", "/unshared.js"]


@needs_browser
def test_nothing_is_kept_from_page_to_page(stage: Stage) -> None:
    keep = "document.cookie = 'a=1'; localStorage.a = 1; sessionStorage.a = 1; indexedDB.open('a')"
    look = """indexedDB.databases().then(all =>
      document.body.append('kept:', document.cookie, localStorage.length, sessionStorage.length, all.length))"""
    stage.texts(f"<script>{keep}</script>")
    (text,) = stage.texts(f"<script>{look}</script>")
    assert "kept:000" in text.replace(" ", "")


# ---- what a page must not reach -------------------------------------------------------------------------------------

WAYS = r"""
fetch(to('fetch'), {mode: 'no-cors'});
fetch(to('read'));
fetch(to('post'), {method: 'POST', mode: 'no-cors', body: 'x'});
fetch(to('keepalive'), {keepalive: true, mode: 'no-cors'});
const x = new XMLHttpRequest(); x.open('GET', to('xhr')); x.send();
new Image().src = to('img');
add('iframe', {src: to('iframe')});
add('object', {data: to('object')});
add('embed', {src: to('embed')});
add('script', {src: to('script')});
add('script', {src: to('module'), type: 'module'});
add('link', {rel: 'stylesheet', href: to('stylesheet')});
add('link', {rel: 'prefetch', href: to('prefetch')});
add('link', {rel: 'preconnect', href: to('preconnect')});
add('link', {rel: 'dns-prefetch', href: to('dns-prefetch')});
add('link', {rel: 'preload', as: 'fetch', href: to('preload')});
add('link', {rel: 'modulepreload', href: to('modulepreload')});
add('link', {rel: 'manifest', href: to('manifest')});
add('link', {rel: 'icon', href: to('icon')});
add('video', {src: to('video')}).load();
add('style', {textContent: `@import "${to('import')}"; body {background: url(${to('background')})}`});
add('style', {textContent: `@font-face {font-family: f; src: url(${to('font')})} body {font-family: f}`});
add('a', {href: '#here', ping: to('ping')}).click();
add('iframe', {srcdoc: `<img src=${to('srcdoc')}>`});
add('iframe', {name: to('box')}); add('form', {action: to('form'), method: 'post', target: to('box')}).submit();
add('script', {type: 'speculationrules', textContent: JSON.stringify({prerender: [{urls: [to('speculation')]}]})});
navigator.sendBeacon(to('beacon'), 'x');
new EventSource(to('events'));
new WebSocket(to('socket').replace('http', 'ws'));
import(to('dynamic')).catch(() => 0);
new Worker(blob(`fetch('${to('worker')}', {mode: 'no-cors'}); importScripts('${to('worker-script')}')`));
new SharedWorker(blob(`fetch('${to('shared')}', {mode: 'no-cors'})`));
window.open(to('window'));
"""
DATAGRAMS = """
new WebTransport('https://127.0.0.1:' + UDP);
call(window);
call(add('iframe', {}).contentWindow);
"""
LEAVING_FOR = """
location = to('location');
document.write(`<meta http-equiv=refresh content="0; url=${to('refresh')}">`);
add('form', {action: to('submit')}).submit();
add('form', {action: to('submit-post'), method: 'post'}).submit();
add('a', {href: to('download'), download: 'x'}).click();
"""
OFTEN = (  # the ways that lead somewhere in a browser as it comes
    *(
        "fetch",
        "read",
        "post",
        "keepalive",
        "xhr",
        "img",
        "iframe",
        "object",
        "embed",
        "script",
        "module",
        "stylesheet",
    ),
    *("prefetch", "preload", "modulepreload", "video", "import", "background", "font", "ping", "srcdoc", "form"),
    *("beacon", "events", "socket", "dynamic", "worker", "worker-script", "shared", "window"),
)
SPELLINGS = [
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "127.1",
    "2130706433",
    "0x7f.1",
    "10.0.0.1",
    "metadata.google.internal",
]


def attack(ways: str, target: str, udp: int = 9) -> str:
    """A page that tries all these ways to reach a target. One that throws does not keep the others from it."""
    tries = "".join(f"try {{ {way} }} catch (error) {{ }}\n" for way in ways.strip().splitlines())
    return f"""<body><script>
      const UDP = {udp}, to = way => '{target}' + way;
      const blob = code => URL.createObjectURL(new Blob([code], {{type: 'text/javascript'}}));
      const add = (tag, values) => document.body.appendChild(Object.assign(document.createElement(tag), values));
      const call = from => {{
        const peer = new from.RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:' + UDP}}]}});
        peer.createDataChannel('x');
        peer.createOffer().then(offer => peer.setLocalDescription(offer));
      }};
      {tries}</script>"""


@pytest.fixture
def udp() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(0)
        yield listener


def heard(listener: socket.socket) -> bool:
    try:
        return bool(listener.recv(2000))
    except BlockingIOError:
        return False


def reached(canary: Wire) -> set[str]:
    """The ways by which somebody reached it."""
    return {head.split(b" ")[1].decode().lstrip("/") for head in canary.requests}


@needs_browser
def test_the_canary_sees_a_browser_without_a_wall(udp: socket.socket) -> None:
    """The attack is a real one: in a browser as it comes, nearly every way leads to the canary."""

    async def run() -> None:
        from playwright.async_api import async_playwright

        reply = page(b"secret", "Access-Control-Allow-Origin: *")
        async with Wire({"*": reply}) as canary, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=check_browser(RenderConfig()))
            window = await browser.new_page()
            await window.goto(f"http://127.0.0.1:{canary.port}/page")
            await window.set_content(attack(WAYS + DATAGRAMS, f"http://127.0.0.1:{canary.port}/", udp.getsockname()[1]))
            told = False
            with suppress(TimeoutError):
                async with asyncio.timeout(20):
                    while not told or not reached(canary) >= {*OFTEN}:
                        await asyncio.sleep(0.1)
                        told = told or heard(udp)
            await browser.close()
            assert {*OFTEN} - reached(canary) == set()
            assert told

    asyncio.run(run())


@needs_browser
def test_no_way_leads_to_a_forbidden_address(stage: Stage) -> None:
    """By its address, by names that lead there, and by a redirect of the site."""
    port, before = stage.canary.port, stage.renderer.refused[Reason.FORBIDDEN]
    stage.site.replies["*"] = page(b"", f"Location: http://127.0.0.1:{port}/", status="302 Found")
    targets = [*(f"http://{name}:{port}/" for name in ("127.0.0.1", "localhost", "inside.example")), "/jump?"]
    leaving = [attack(way, targets[0]) for way in LEAVING_FOR.strip().splitlines()]
    answers = stage.show(*[attack(WAYS, target) for target in targets], *leaving)
    del stage.site.replies["*"]
    assert [type(answer) for answer in answers[: len(targets)]] == [Fetch] * len(targets)
    assert all(isinstance(answer, Fetch | Redirect) for answer in answers)
    assert stage.canary.connections == 0
    assert stage.renderer.refused[Reason.FORBIDDEN] - before >= 8 * len(targets)  # nobody asked for the other ways
    assert all(path.startswith("/jump?") for path in stage.asked())


@needs_browser
def test_every_spelling_of_a_forbidden_address(stage: Stage) -> None:
    before = stage.renderer.refused[Reason.FORBIDDEN]
    tries = [f"fetch('http://{name}:{stage.canary.port}/', {{mode: 'no-cors'}})" for name in SPELLINGS]
    stage.texts(f"<script>{'; '.join(tries)}</script>")
    assert stage.canary.connections == 0
    assert stage.renderer.refused[Reason.FORBIDDEN] - before == len(SPELLINGS)


@needs_browser
def test_what_only_pages_with_tls_can_do(stage: Stage, udp: socket.socket) -> None:
    ways = DATAGRAMS + "navigator.serviceWorker.register('/service.js');"
    fetch = Fetch(Url("https://site.web.test/"), attack(ways, "/", udp.getsockname()[1]).encode())
    connections = stage.site.connections
    assert isinstance(stage.runner.run(stage.renderer.render(fetch)), Fetch)
    assert (stage.site.connections, heard(udp)) == (connections, False)


@needs_browser
def test_what_others_do_not_show_is_not_read(stage: Stage) -> None:
    """An origin that does not name the page may hold what is not for everybody: a redirect does not change that."""
    stage.site.replies["/hop"] = page(b"", "Location: http://other.web.test/closed", status="302 Found")
    stage.site.replies["/closed"] = page(b"not for all")
    stage.site.replies["/open"] = page(b"for all", "Access-Control-Allow-Origin: *")
    reads = ["/hop", "http://other.web.test/closed", "http://other.web.test/open"]
    tries = [f"fetch('{url}').then(a => a.text()).then(t => document.body.append(t)).catch(() => 0)" for url in reads]
    (text,) = stage.texts(f"<p>x<script>{'; '.join(tries)}</script>")
    assert "for all" in text
    assert "not for all" not in text
    stage.asked()


# ---- pages that do not come to a good end ---------------------------------------------------------------------------


@needs_browser
def test_scripts_and_requests_that_do_not_end(strict: Stage) -> None:
    """They are ended, and what the page has made until then is taken."""

    async def silence(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(600)

    strict.site.replies["/silent"] = silence
    endless = "<p>before<script>while (true);</script>"
    later = "<p>before<script>onload = () => setTimeout(() => { while (true); }, 300)</script>"
    waiting = "<p>before<script>fetch('/silent').finally(() => document.body.append('answered'))</script>"
    for answer in strict.show(endless, later, waiting):
        assert isinstance(answer, Fetch), answer
        assert b"<p>before" in answer.body
        assert b"answered</" not in answer.body


@needs_browser
def test_a_page_that_does_not_answer(strict: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tab, "GRACE", 0.5)
    assert strict.failure("<script>while (true) alert(1)</script>") == (Reason.TIMEOUT, "its scripts do not end")


@needs_browser
def test_a_lost_answer_is_not_asked_for_again(stage: Stage) -> None:
    async def hang_up(writer: asyncio.StreamWriter) -> None:
        """Close the connection, which was used before."""

    stage.site.replies.update({"/first": page(b"x"), "/lost": hang_up})
    stage.texts("<script>fetch('/first').then(() => fetch('/lost'))</script>")
    assert stage.asked() == ["/first", "/lost"]


@needs_browser
def test_dialogs_and_windows(stage: Stage) -> None:
    script = """for (let i = 0; i < 20; i++) { alert(i); confirm('?'); prompt('?') }
      onbeforeunload = () => 'stay'; print(); window.open('/popup'); window.close();
      const other = window.open(''); other && other.document.write('<script src=/from-window><' + '/script>');
      document.body.append('after')"""
    assert stage.texts(f"<p>here<script>{script}</script>") == ["here after"]
    stage.asked()


@needs_browser
def test_a_large_dom_is_cut(strict: Stage) -> None:
    (answer,) = strict.show("<p>first<script>document.body.append('ü'.repeat(200000))</script>")
    assert isinstance(answer, Fetch)
    assert len(answer.body) == 100_000
    assert b"<p>first" in answer.body


@needs_browser
def test_a_page_that_leaves_nothing(strict: Stage) -> None:
    assert strict.failure("<script>location = 'about:blank'</script>")[0] is Reason.UNREADABLE
    (answer,) = strict.show("<script>document.documentElement.remove()</script>")
    assert isinstance(answer, Fetch)
    assert answer.body == b""


@needs_browser
def test_requests_are_counted_and_cut(stage: Stage) -> None:
    stage.site.replies["*"] = page(b"x")
    before = stage.renderer.refused[Reason.TOO_LARGE]
    stage.texts("<script>for (let i = 0; i < 500; i++) fetch('/' + i)</script>")
    del stage.site.replies["*"]
    assert len(stage.asked()) == 40
    assert stage.renderer.refused[Reason.TOO_LARGE] == before + 460


@needs_browser
def test_answers_that_are_too_large(stage: Stage) -> None:
    stage.site.replies["/large.js"] = page(b" " * (LARGEST + 1) + b"document.body.append('ran')", kind=SCRIPT)
    bomb = gzip.compress(bytes(50_000_000))
    stage.site.replies["/bomb.js"] = page(bomb, "Content-Encoding: gzip", kind=SCRIPT)
    before = stage.renderer.refused[Reason.TOO_LARGE]
    assert stage.texts("<p>here<script src=/large.js></script><script src=/bomb.js></script>") == ["here"]
    assert stage.renderer.refused[Reason.TOO_LARGE] == before + 2
    stage.asked()


@needs_browser
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells how much memory a process holds")
def test_a_page_that_takes_too_much_memory(strict: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "MEMORY", 400_000_000)
    greedy = "<script>const all = []; while (true) all.push(new Uint8Array(1e7).fill(1))</script>"
    reason, detail = strict.failure(greedy)
    assert (reason, "of memory" in detail) == (Reason.TOO_LARGE, True)
    assert strict.texts("<p>next") == ["next"]


def processes() -> dict[int, tuple[int, str]]:
    """Parent and state of all processes."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent, *_ = place.read_text().rpartition(")")[2].split()
            found[int(place.parent.name)] = (int(parent), state)
    return found


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def descendants() -> set[int]:
    """The processes that come from this one."""
    known = processes()
    found = {os.getpid()}
    while more := {pid for pid, (parent, _) in known.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


@needs_browser
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux shows processes as files")
def test_a_browser_that_is_killed() -> None:
    """The page under way gets another browser, and so does the next. At the end no process is left."""
    others = descendants()
    with staged(RenderConfig(seconds=60)) as stage:
        assert stage.texts("<p>first") == ["first"]
        ours = descendants() - others
        browsers = {pid for pid in ours if b"--remote-debugging-pipe" in command(pid)}

        async def kill(writer: asyncio.StreamWriter) -> None:
            while browsers:
                with suppress(ProcessLookupError):  # one that was only started for a moment
                    os.kill(browsers.pop(), signal.SIGKILL)
            writer.write(page(b"document.body.append('made')", "Connection: close", kind=SCRIPT))

        stage.site.replies["/kill.js"] = kill
        assert stage.texts("<p>second<script src=/kill.js></script>") == ["second made"]
        assert stage.texts("<p>third") == ["third"]
        assert stage.renderer.starts == 2
        ours |= descendants() - others
    until = time.monotonic() + 20
    while left(ours) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left(ours)


def left(pids: set[int]) -> set[int]:
    """Those that still run, or that we have not buried. Orphans that have ended are for the system to bury."""
    known = processes()
    return {pid for pid in pids & known.keys() if known[pid][1] != "Z" or known[pid][0] == os.getpid()}


@needs_browser
def test_a_browser_that_does_not_start() -> None:
    async def run() -> Answer:
        async with Renderer(RenderConfig(browser="/bin/false"), FetchConfig(contact=CONTACT)) as renderer:
            return await renderer.render(Fetch(Url("http://a.test/"), b"<p>x"))

    answer = asyncio.run(run())
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.LOCAL
    assert answer.detail.startswith("the browser does not start")
    assert "\n" not in answer.detail


# ---- which pages, and with what -------------------------------------------------------------------------------------

LONG = "<p>" + "word " * FEW_WORDS


@needs_browser
@pytest.mark.parametrize(
    ("settings", "url", "body", "wanted"),
    [
        (RenderConfig(hosts=("*.a.test",)), "http://x.a.test:8000/", LONG, True),
        (RenderConfig(hosts=("*.a.test",)), "http://a.test/", LONG, False),
        (RenderConfig(hosts=("A.test", "b.test")), "http://a.test/", LONG, True),
        (RenderConfig(patterns=("/app/", "\\?js$")), "http://a.test/app/x", LONG, True),
        (RenderConfig(patterns=("/app/", "\\?js$")), "http://a.test/apps", LONG, False),
        (RenderConfig(empty=True), "http://a.test/", "<div id=root></div><SCRIPT src=x></SCRIPT>", True),
        (RenderConfig(empty=True), "http://a.test/", f"{LONG}<a href=/x>x</a><script></script>", False),
        (RenderConfig(empty=True), "http://a.test/", f"{LONG}<script></script>", True),  # no links
        (RenderConfig(empty=True), "http://a.test/", "<p>few<a href=/x>x</a><script></script>", True),
        (RenderConfig(empty=True), "http://a.test/", "<p>few, but no scripts", False),
        (RenderConfig(hosts=("a.test",)), "http://a.test/", "<script>" + " " * LARGEST, False),
    ],
)
def test_which_pages_are_wanted(settings: RenderConfig, url: str, body: str, wanted: bool) -> None:
    fetch = Fetch(Url(url), body.encode())
    found = parse(fetch)
    assert isinstance(found, Page)
    renderer = make_renderer(settings, FetchConfig(contact=CONTACT), rules=RULES, clock=WallClock())
    assert renderer is not None
    assert renderer.wants(fetch, found) is wanted
    assert not renderer.wants(replace(fetch, content_type="text/plain"), found)


def test_without_a_word_nothing_is_rendered() -> None:
    assert make_renderer(RenderConfig(), FetchConfig(contact=CONTACT), rules=RULES, clock=WallClock()) is None


@pytest.mark.parametrize(
    ("render", "fetch", "told"),
    [
        (RenderConfig(), FetchConfig(contact=CONTACT, replay="web"), "recorded web"),
        (RenderConfig(), FetchConfig(contact=CONTACT, proxy="http://proxy.test:3128"), "proxy"),
        (RenderConfig(), FetchConfig(), "contact"),
        (RenderConfig(browser="no-such-browser"), FetchConfig(contact=CONTACT), "is no program"),
    ],
)
def test_what_cannot_be_rendered_is_told_at_once(
    render: RenderConfig, fetch: FetchConfig, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "find_spec", lambda name: True)
    if not render.browser:
        monkeypatch.setattr(browser, "_programs", lambda: iter(["/bin/true"]))
    with pytest.raises(ForagerError, match=told):
        Renderer(render, fetch)


def test_a_missing_part_is_told_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "find_spec", lambda name: None)
    with pytest.raises(ForagerError, match=r"pip install 'forager\[render\]'"):
        check_browser(RenderConfig())
    monkeypatch.setattr(browser, "find_spec", lambda name: True)
    monkeypatch.setattr(browser, "PROGRAMS", ("no-such-browser",))
    monkeypatch.setattr(browser, "ELSEWHERE", ("/nowhere/*/chrome",))
    with pytest.raises(ForagerError, match="apt-get install chromium"):
        check_browser(RenderConfig())
    with pytest.raises(ForagerError, match="does not start"):
        browser_version("/bin/false")
