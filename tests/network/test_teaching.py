"""`forager teach record` as a person runs it: a real server, real sockets, lines typed, signals, and kills."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from warcio.archiveiterator import ArchiveIterator

from forager.fetch.replay import open_recording
from forager.paths import load_paths
from forager.teaching import ARCHIVE, PATHS, UNFINISHED
from forager.teaching.training_webs import shown_ground
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server.log import impolite, read_log
from tests.network.serving import ROOT, served

NUMBERS = {"hosts": 6, "pages_per_host": 22, "traps": 0.0, "slow_hosts": 0.0, "seed": 3}
MILL, KING, HIGH = (f"http://{name}.web.test" for name in ("millhouse", "kingfield", "highpath"))
DELAY, TOLERANCE = 0.05, 0.02  # seconds
DOCS = ROOT / "docs" / "guides" / "teaching.md"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Port and request log; the log is of all tests of this file."""
    log = tmp_path_factory.mktemp("teaching") / "requests.log"
    with served(log, slowness=0.02, **NUMBERS) as port:
        yield port, log


def settings(folder: Path, port: int, longest: float = DELAY) -> Path:
    file = folder / "teach.toml"
    file.write_text(
        f'[frontier]\ndelay = {DELAY}\n[fetch]\ncontact = "me@example.org"\nlongest_delay = {longest}\n'
        f'resolve = {{ "*.web.test" = "127.0.0.1:{port}" }}\n'
    )
    return file


def command(folder: Path, config: Path | None, *starts: str) -> list[str]:
    words = [word for start in starts for word in ("--start", start)]
    given = ["--config", str(config)] if config else []
    return [sys.executable, "-m", "forager", "teach", "record", str(folder), *words, *given]


def record(folder: Path, config: Path | None, lines: str, *starts: str) -> subprocess.CompletedProcess[str]:
    """A session in which these lines are typed."""
    return subprocess.run(
        command(folder, config, *starts), input=lines, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT
    )


class Typing:
    """A session that waits for what is typed next."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        self.said = ""

    def wait_for(self, text: str) -> None:
        """Until it was said; the prompt has no end of line."""
        assert self.process.stderr
        while text not in self.said:
            character = self.process.stderr.read(1)
            assert character, self.said
            self.said += character
        self.said = self.said.partition(text)[2]

    def type(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def end(self) -> tuple[int, str, str]:
        out, said = self.process.communicate(timeout=30)
        return self.process.returncode, out, self.said + said


@contextmanager
def typing(words: list[str]) -> Iterator[Typing]:
    session = Typing(words)
    try:
        yield session
    finally:
        session.process.kill()
        session.process.communicate()


def asked(log: Path, since: float) -> Counter[str]:
    """What was asked for since then, robots.txt left out."""
    time.sleep(0.6)  # the server writes its log every half second
    seen = [each for each in read_log(log) if each.arrived >= since and each.target != "/robots.txt"]
    return Counter(f"http://{each.host}{each.target}" for each in seen)


def bodies(folder: Path) -> dict[str, bytes]:
    """The pages of the archive, as warcio reads them."""
    found = {}
    with (folder / ARCHIVE).open("rb") as stream:
        for entry in ArchiveIterator(stream, check_digests="raise"):
            body = entry.content_stream().read()
            if entry.rec_type == "response" and entry.http_headers.get_statuscode() == "200":
                found[entry.rec_headers.get_header("WARC-Target-URI")] = body
    return found


def test_a_session_is_polite_and_keeps_paths_and_pages(web: tuple[int, Path], tmp_path: Path) -> None:
    port, log = web
    since = time.monotonic()
    folder = tmp_path / "lessons"
    lines = ["label home", "log in", "7", "vaccines", "3", "label  course   list", "punch", "10", "goal 2", "back", "1",
             "fail start 2", "/old/ 1923", "item=1391", "6", "/old", "goal http://millhouse.web.test/nowhere", "goal",
             "labels", "starts", "9" * 5000, "back issues", "goal nowhere", "help", "quit"]  # fmt: skip
    done = record(folder, settings(tmp_path, port), "\n".join(lines), f"{MILL}/", f"{KING}/")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"3 paths in {folder / PATHS}: 2 goal, 1 fail\n"
    for told in (
        f"{MILL}/login brought no page (robots robots.txt does not allow it)",
        "this is a new label; the others are: home",
        "path-1 is saved: 3 pages, goal",
        f"{MILL}/nowhere brought no page (not-found status 404",
        "course list: 1 pages, e.g. http://millhouse.web.test/vaccines",
        f"   2  {KING}/",
        "no link has 'back issues'; `all` shows",
        "the next path cannot begin at 'nowhere'",
        "NUMBER          follow the link with this number",
    ):
        assert told in done.stderr
    paths = load_paths(folder / PATHS).paths
    assert [[(step.url, step.anchor, step.label) for step in path.steps] for path in paths[:2]] == [
        [
            (f"{MILL}/", None, "home"),
            (f"{MILL}/vaccines", "Vaccines", "course list"),
            (f"{MILL}/vaccines/the-kerning-and-the-common-bold-weight-1088.html", "punch", None),
        ],
        [(f"{MILL}/", None, "home"), (f"{MILL}/diets", "Diets", None)],
    ]
    assert paths[2].steps[0].url == f"{KING}/"
    requests = asked(log, since)
    assert requests.most_common(1)[0][1] == 1
    assert f"{MILL}/login" not in requests
    assert impolite(log, DELAY, TOLERANCE) == []
    kept, original = bodies(folder), ProceduralWeb(WebPlan(**NUMBERS))  # type: ignore[arg-type]
    assert {step.url for path in paths for step in path.steps} <= set(kept)
    assert all(body == original.respond(url).body for url, body in kept.items())
    assert set(open_recording(folder).fetcher.places) >= set(kept)
    assert len(shown_ground(paths, folder)) == len({step.url for path in paths for step in path.steps})


def test_redirects_failures_and_what_is_no_page(web: tuple[int, Path], tmp_path: Path) -> None:
    """A start is a URL like any other: chains, a circle, a file, an error, a page that is gone."""
    config = settings(tmp_path, web[0])
    starts = ["/older/1923.html", "/welcome/0", "/docs/1258.pdf", "/live/909", "/view?item=1253"]
    lines = "".join(f"drop start {number}\n" for number in range(2, 6)) + "drop start 6\nlog\nquit\n"
    done = record(tmp_path / "f", config, lines, *(KING + place for place in starts))
    assert done.returncode == 0, done.stderr
    for told in (
        f"\n{KING}/view?item=1923\n",
        "brought no page (too-many-redirects",
        "brought no page (not-html application/pdf)",
        "/live/909 brought no page (server-error status 500",
        "brought no page (not-found status 404",
        "there is no start 6: `starts` lists the 5 starts",
    ):
        assert told in done.stderr
    assert set(bodies(tmp_path / "f")) == {f"{KING}/view?item=1923"}
    assert set(open_recording(tmp_path / "f").fetcher.aliases) == {f"{KING}/older/1923.html", f"{KING}/old/1923.html"}


def test_a_killed_session_is_taken_up_and_asks_for_nothing_again(web: tuple[int, Path], tmp_path: Path) -> None:
    port, log = web
    since = time.monotonic()
    folder, config = tmp_path / "f", settings(tmp_path, port)
    with typing(command(folder, config, f"{MILL}/")) as session:
        for line in ("label home", "3", "label list", "10", "goal", "3", "8"):
            session.wait_for(" > ")
            session.type(line)
        session.wait_for("path-2, page 3 > ")
    done = record(folder, config, "back\npath\n10\ngoal\nquit\n")
    assert done.returncode == 0, done.stderr
    assert "going on with path-2 at its page 3" in done.stderr
    first, second = load_paths(folder / PATHS).paths
    assert (second.id, second.steps) == ("path-2", first.steps)
    assert asked(log, since).most_common(1)[0][1] == 1
    assert impolite(log, DELAY, TOLERANCE) == []
    assert json.loads((folder / UNFINISHED).read_text())["id"] == "path-3"


def test_ctrl_c_at_the_prompt_ends_and_keeps(web: tuple[int, Path], tmp_path: Path) -> None:
    folder = tmp_path / "f"
    with typing(command(folder, settings(tmp_path, web[0]), f"{MILL}/")) as session:
        session.wait_for(" > ")
        session.type("3")
        session.wait_for("page 2 > ")
        session.process.send_signal(signal.SIGINT)
        code, out, said = session.end()
    assert (code, out) == (0, f"0 paths in {folder / PATHS}: 0 goal, 0 fail\n")
    assert "path-1 is not finished and has 2 pages: the next session goes on with it" in said
    assert "Traceback" not in said


def test_ctrl_c_while_a_host_rests_leaves_all_as_it_was(web: tuple[int, Path], tmp_path: Path) -> None:
    """The host asks for 4 seconds between two requests."""
    with typing(command(tmp_path / "f", settings(tmp_path, web[0], longest=60), f"{HIGH}/")) as session:
        session.wait_for(" > ")
        session.type("1")
        session.wait_for("waiting 4 s before the next request to highpath.web.test")
        session.process.send_signal(signal.SIGINT)
        session.wait_for("stopped; nothing has changed")
        session.wait_for("path-1, page 1 > ")
        session.type("1")
        session.wait_for("path-1, page 2 > ")
        session.type("quit")
        assert session.end()[0] == 0


@pytest.mark.parametrize(
    ("start", "config", "message"),
    [
        (f"{KING}/view?item=1253", True, "brought no page (not-found status 404"),
        (f"{KING}/login", True, "brought no page (robots robots.txt does not allow it)"),
        ("http://127.0.0.1:{port}/", True, "brought no page (forbidden-address"),
        ("kingfield", True, "'kingfield' is not an http or https URL"),
        (f"{KING}/", False, "contact '' is neither a mail address nor a page"),
        (None, True, "no page to start from: give at least one, with --start URL"),
    ],
)
def test_a_start_that_is_none_is_one_line(
    web: tuple[int, Path], tmp_path: Path, start: str | None, config: bool, message: str
) -> None:
    starts = [start.format(port=web[0])] if start else []
    done = record(tmp_path / "f", settings(tmp_path, web[0]) if config else None, "quit\n", *starts)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("forager: ")]
    assert message in line


class _Impatient(BaseHTTPRequestHandler):
    """Keeps a connection alive, and closes it when nothing comes."""

    protocol_version, timeout = "HTTP/1.1", 0.2

    def do_GET(self) -> None:
        body = b"<title>x</title><a href='/a'>a</a><a href='/b'>b</a>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_a_server_that_closes_while_somebody_thinks(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Impatient) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config = settings(tmp_path, server.server_address[1])
        with typing(command(tmp_path / "f", config, "http://x.web.test/")) as session:
            for line in ("1", "1", "goal", "quit"):  # of /a only /b is another page
                session.wait_for(" > ")
                time.sleep(0.5)
                session.type(line)
            assert session.end()[0] == 0
        server.shutdown()
    (path,) = load_paths(tmp_path / "f" / PATHS).paths
    assert [step.url.removeprefix("http://x.web.test") for step in path.steps] == ["/", "/a", "/b"]


# ---- the documentation


@contextmanager
def default_web() -> Iterator[int]:
    """The web that the documentation serves."""
    words = [sys.executable, "-m", "forager_lab.webs.server", "--slowness", "0"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield int(json.loads(server.stdout.readline())["port"])
        finally:
            server.stdin.close()
            server.wait(10)


def test_the_walk_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed there says what stands there, in that order; `…` stands for lines left out."""
    text = DOCS.read_text(encoding="utf-8")
    (toml,), (dialogue,), (code,) = (
        re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("toml", "text", "python")
    )
    (words,) = re.findall(r"Then `forager (.*?)`", text)
    typed = re.findall(r"^path-\d+, page \d+ > (.*)$", dialogue, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    with default_web() as port:
        (tmp_path / "teach.toml").write_text(toml.replace("8123", str(port)))
        run = subprocess.run(
            [sys.executable, "-m", "forager", *words.split()],
            input="\n".join(typed), capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        said = iter((run.stderr + run.stdout).splitlines())
        for line in dialogue.splitlines():
            assert line.strip() in ("", "…") or line in said, line
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Solar panel club 33 links",
        "[None, 'Energy', 'The member behind the hydrogen']",
        "3 paths, {'home': 3, 'topic': 2} ()",
    ]
