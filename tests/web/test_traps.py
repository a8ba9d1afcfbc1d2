from __future__ import annotations

import csv
import gzip
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.types import Url
from forager.web import traps as rules
from forager.web.traps import COPIES, ENDLESS, REPEATED, Traps, shape
from forager.web.urls import RULES
from tests.shared import WEBS, needs


@dataclass(frozen=True)
class Answer:
    """A page of a small web: its text, its links, whether it is wanted."""

    text: str
    links: Sequence[str] = ()
    relevant: bool = False


@dataclass
class Walk:
    """A crawl in the order of discovery. Two pages are twins if they have the same text; "" is too little to tell."""

    web: Callable[[str], Answer | None]
    most: int = 400
    traps: Traps = field(default_factory=Traps)
    fetched: list[Url] = field(default_factory=list)

    def run(self, *seeds: str) -> Walk:
        queue = deque((Url(seed), None) for seed in seeds)  # type: deque[tuple[Url, Url | None]]
        known, texts = set(map(Url, seeds)), set[str]()
        while queue and len(self.fetched) < self.most:
            url, parent = queue.popleft()
            answer = None if self.traps.holds_back(url) else self.web(url)
            if answer is None:
                continue
            self.fetched.append(url)
            twin = answer.text in texts
            texts |= {answer.text} - {""}
            links = [Url(link) for link in dict.fromkeys(answer.links)]
            new = [link for link, allowed in zip(links, self.traps.admit(links), strict=True) if allowed]
            new = [link for link in new if link not in known]
            known.update(new)
            queue.extend((link, url) for link in new)
            relevance = 0.9 if answer.relevant else 0.1
            self.traps.saw(url, parent, relevance=relevance, twin=twin, thin=not answer.text, brought=new)
        return self

    def of(self, part: str) -> list[Url]:
        return [url for url in self.fetched if part in url]

    @property
    def capped(self) -> dict[str, str]:
        return {trap.pattern: trap.why for trap in self.traps.report()}


def number(url: str) -> int:
    """The last number of a URL."""
    return int(re.findall(r"\d+", url)[-1])


def show(traps: Traps, urls: Iterable[str], *, twin: bool = True, relevance: float = 0.0, thin: bool = False) -> None:
    for url in urls:
        traps.saw(Url(url), None, relevance=relevance, twin=twin, thin=thin, brought=())


# ---- traps


def test_a_calendar_that_never_ends() -> None:
    def web(url: str) -> Answer:
        if "calendar" not in url:
            good = [f"http://a.test/article-{letter}" for letter in "abcdefgh"] if url.endswith(".test/") else []
            return Answer(f"text of {url}", [*good, "http://a.test/calendar/2024/1"], relevant=True)
        year, month = map(int, url.split("/")[-2:])
        months = [year * 12 + month - 1 + step for step in (1, -1, 12)]
        return Answer(f"events in {url}", [f"http://a.test/calendar/{at // 12}/{at % 12 + 1}" for at in months])

    walk = Walk(web).run("http://a.test/")
    assert walk.capped == {"a.test/calendar/#/#": ENDLESS}
    assert len(walk.of("calendar")) < 40
    assert len(walk.of("article")) == 8
    (trap,) = walk.traps.report()
    assert (trap.site, trap.relevant, trap.copies) == ("a.test", 0, 0)
    assert trap.fetched == len(walk.of("calendar"))
    assert trap.held_back > 0


def test_session_ids() -> None:
    visits = iter(range(10**6))

    def web(url: str) -> Answer:
        links = [f"http://a.test/shop/{page}?sid={next(visits) * 7919:012x}" for page in ("cart", "help", "home")]
        return Answer(url.partition("?")[0], links)

    walk = Walk(web).run("http://a.test/shop/home")
    assert set(walk.capped.values()) == {COPIES}
    assert len(walk.fetched) < 60


def test_session_ids_in_the_path() -> None:
    def web(url: str) -> Answer:
        parts = url.split("/")
        visit = crc32(url.encode())
        return Answer(parts[-1], [f"http://a.test/s/{visit + n:016x}/{page}" for n, page in enumerate(("x", "y"))])

    walk = Walk(web).run("http://a.test/s/0123456789abcdef/x")
    assert len(walk.fetched) < 60
    assert walk.capped.keys() <= {"a.test/s/#/x", "a.test/s/#/y", "a.test/s/#**"}


def test_combinations_of_parameters() -> None:
    """Each link adds one parameter, so that each page has another set of names."""
    names = [f"filter{letter}" for letter in "abcdefghijklmnop"]

    def web(url: str) -> Answer:
        have = {pair.partition("=")[0] for pair in url.partition("?")[2].split("&")} - {""}
        more = [sorted(have | {name}) for name in names if name not in have]
        links = ["http://a.test/list?" + "&".join(f"{name}=1" for name in chosen) for chosen in more]
        return Answer("the same list", links)

    walk = Walk(web).run("http://a.test/list")
    assert walk.capped == {"a.test/list?**": COPIES}
    assert len(walk.fetched) < 30


def test_paths_that_repeat_themselves() -> None:
    def web(url: str) -> Answer:
        return Answer(f"a text of its own: {url}", [f"{url}/a", f"{url}/b"])

    walk = Walk(web, most=5_000).run("http://a.test/x")
    assert len(walk.fetched) < 300
    assert walk.capped["a.test/**"] == REPEATED


@pytest.mark.parametrize(
    ("path", "admitted"),
    [
        ("a/b/a/b/c/d", True),
        ("a/b/a/b/a/b", False),
        ("a/a/a/b/c", False),
        ("x/a/b/c/a/b/c/a/b/c/y", False),
        ("2024/01/01/01/story", True),
        ("calendar/1/1/1/1/1", True),
        ("a/b/c/a/b/c", True),
        ("/".join(map(str, range(31))), False),
        ("/".join(map(str, range(30))), True),
        ("a?next=/b/b/b/b/b/b/b", True),
    ],
)
def test_which_paths_repeat_themselves(path: str, admitted: bool) -> None:
    traps = Traps()
    assert traps.admit([Url(f"http://a.test/{path}")]).tolist() == [admitted]
    assert [trap.why for trap in traps.report()] == ([] if admitted else [REPEATED])


def test_folders_that_lead_into_folders() -> None:
    """Words, no numbers and no repetition; each page has a text of its own."""
    names = ("red", "green", "blue", "black")

    def web(url: str) -> Answer:
        return Answer(url, [f"{url}/{names[(len(url) + n) % 4]}-{len(url)}x" for n in range(3)])

    walk = Walk(web, most=3_000).run("http://a.test/files/start")
    assert walk.capped == {"a.test/files/**": ENDLESS}
    assert len(walk.fetched) < 100


def test_soft_404s() -> None:
    """A host that says the same to every nonsense; its good pages are still followed."""

    def web(url: str) -> Answer:
        if "/good/" in url:
            at = number(url)
            return Answer(url, [f"http://a.test/good/{at + 1}"] if at < 150 else [], relevant=at % 10 == 0)
        broken = [
            f"http://a.test/{'abcdefghijklmnopqrstuvwxyz'[n % 26]}{'xyz'[n % 3]}{len(url)}q/lost" for n in range(40)
        ]
        return Answer("sorry, nothing is here", ["http://a.test/good/0", *broken])

    walk = Walk(web, most=2_000).run("http://a.test/")
    assert len(walk.of("/good/")) == 151
    assert len(walk.of("lost")) < 60
    assert set(walk.capped.values()) == {COPIES}


def test_copies_of_a_folder() -> None:
    """Mirrors on one host: the original is followed, each further copy is not for long."""

    def web(url: str) -> Answer:
        folder, _, name = url.removeprefix("http://a.test/").partition("/")
        if not name:
            tops = ["manual", *(f"mirror-of-{place}" for place in ("asia", "africa", "europe", "america"))]
            return Answer("top", [f"http://a.test/{top}/page-{letter}" for top in tops for letter in "ab"])
        letters = "abcdefghijklmnopqrstuvwxyz"
        return Answer(name, [f"http://a.test/{folder}/page-{one}{two}" for one in letters[:10] for two in letters[:6]])

    walk = Walk(web, most=1_000).run("http://a.test/")
    assert len(walk.of("/manual/")) == 62
    assert len(walk.of("mirror")) < 4 * 62 * 0.6
    assert set(walk.capped.values()) == {COPIES}
    assert not any("manual" in pattern for pattern in walk.capped)


def test_a_name_server_that_knows_every_host() -> None:
    def web(url: str) -> Answer:
        if "//real." in url:
            at = number(url)
            return Answer(url, [f"http://real.a.test/{at + 1}", f"http://made-up-{at}x.a.test/"], relevant=True)
        letters = "".join(chr(97 + ord(c) % 26) for c in url[7:12])
        return Answer("parked", [f"http://{letters}{len(url)}{n}w.a.test/" for n in range(3)])

    walk = Walk(web, most=300).run("http://real.a.test/0")
    assert "*.a.test" in walk.capped
    assert len(walk.of("//real.")) > 200
    assert len([url for url in walk.fetched if "//real." not in url]) < 60


# ---- what is no trap


def test_months_that_lead_to_their_neighbours() -> None:
    """Most of them lie in the folder of the same year."""

    def web(url: str) -> Answer:
        year, month = map(int, url.split("/")[4:6]) if url.count("/") > 4 else (2024, 5)
        at = 12 * year + month - 1
        near = [f"http://a.test/calendar/{(at + step) // 12}/{(at + step) % 12 + 1}" for step in (-1, 1)]
        return Answer(f"month {at}", near)

    walk = Walk(web).run("http://a.test/")
    assert len(walk.fetched) < 30
    assert [trap.why for trap in walk.traps.report()] == [ENDLESS]


def test_any_name_is_a_host_with_a_text_of_its_own() -> None:
    def web(url: str) -> Answer:
        return Answer(url, [f"http://h{crc32(f'{url} {n}'.encode())}.a.test/" for n in range(10)])

    walk = Walk(web).run("http://a.test/")
    assert len(walk.fetched) < 60
    assert [(trap.pattern, trap.why) for trap in walk.traps.report()] == [("*.a.test", ENDLESS)]


def test_hosts_of_which_only_the_first_page_differs() -> None:
    def web(url: str) -> Answer:
        number, path = int(url.split(".")[0][8:]), url.split("/")[3]
        if path:
            return Answer(f"page {path}")
        others = [f"http://h{n}.a.test/" for n in range(number + 1, number + 4)]
        return Answer(url, [f"{url}{n}" for n in range(5)] + others)

    walk = Walk(web, most=2_000).run("http://h0.a.test/")
    assert len(walk.fetched) < 400
    assert ("*.a.test", COPIES) in [(trap.pattern, trap.why) for trap in walk.traps.report()]


@pytest.mark.parametrize("wanted", [False, True])
def test_pages_that_only_name_others_of_their_folder(wanted: bool) -> None:
    """A wiki is such a folder. It goes on if something is found there."""

    def web(url: str) -> Answer:
        number = crc32(url.encode())
        links = [f"http://a.test/wiki/w{crc32(f'{url} {n}'.encode()):x}y" for n in range(3)]
        return Answer(url, links, relevant=wanted and number % 50 == 0)

    walk = Walk(web, most=1_000).run("http://a.test/wiki/")
    assert (len(walk.fetched) == 1_000) == wanted
    assert len(walk.fetched) >= 300


def test_an_archive_by_date_goes_on() -> None:
    """Each day leads to the next one, and has an article of its own; one in ten is wanted."""

    def web(url: str) -> Answer:
        day = number(url)
        return Answer(url, [f"http://a.test/archive/2024/{day + 1}"], relevant=day % 10 == 3)

    walk = Walk(web, most=500).run("http://a.test/archive/2024/1")
    assert len(walk.fetched) == 500
    assert not walk.capped


def test_a_list_in_pages_that_leads_to_articles_goes_on() -> None:
    """Nothing on it is wanted, but it brings what is not of its own pattern."""

    def web(url: str) -> Answer:
        if "item" in url:
            return Answer(url)
        page = number(url)
        items = [f"http://a.test/item/{'abcdefghij'[n]}-{page}" for n in range(3)]
        return Answer("", [f"http://a.test/list?page={page + 1}", *items])

    walk = Walk(web, most=500).run("http://a.test/list?page=1")
    assert len(walk.fetched) == 500
    assert not walk.capped


def test_copies_among_articles_are_no_trap() -> None:
    """Half of the pages are print versions, but the pattern goes on to bring new texts."""
    traps = Traps()
    for n in range(300):
        show(traps, [f"http://a.test/view?id={n}"], twin=n % 2 == 1)
    assert not traps.report()


def test_a_part_that_is_rich_is_followed_in_a_capped_pattern() -> None:
    traps = Traps()
    show(traps, (f"http://a.test/wiki/owls/{n}" for n in range(10)), twin=False, relevance=0.9)
    show(traps, (f"http://a.test/wiki/talk{'abcdefghij'[n % 10]}{n // 10}x/y" for n in range(150)))
    owls, talk = Url("http://a.test/wiki/owls/nest"), Url("http://a.test/wiki/unheard/y")
    assert "a.test/wiki/*" in {trap.pattern for trap in traps.report()}
    assert traps.admit([owls, talk]).tolist() == [True, False]


def test_thin_pages_say_nothing() -> None:
    traps = Traps()
    show(traps, (f"http://a.test/p?n={n}" for n in range(100)), twin=False, thin=True)
    assert not traps.report()


@given(st.lists(st.integers(0, 9), max_size=300))
def test_what_brings_a_wanted_page_often_enough_is_never_capped(gaps: list[int]) -> None:
    """At most 9 copies between two relevant pages: less than what caps a pattern that never brought one."""
    traps, at = Traps(), 0
    for gap in gaps:
        for twin in [*[True] * gap, False]:
            show(traps, [f"http://a.test/day/{at}?view=1"], twin=twin, relevance=0.9)
            at += 1
    assert not traps.report()
    assert traps.admit([Url("http://a.test/day/5?view=2")]).all()


def test_what_brought_wanted_pages_is_allowed_more_copies() -> None:
    traps = Traps()
    show(traps, (f"http://a.test/day/{n}" for n in range(4)), twin=False, relevance=0.9)
    show(traps, (f"http://a.test/day/{n}" for n in range(4, 35)))
    assert not traps.report()  # 12 + 4 * 5 are too many
    show(traps, ["http://a.test/day/36"])
    assert [trap.pattern for trap in traps.report()] == ["a.test/day/#"]


# ---- links, state and size


def test_a_capped_pattern_holds_back_its_links_alone() -> None:
    traps = Traps()
    show(traps, (f"http://a.test/day/{n}" for n in range(12)))
    urls = [
        "http://a.test/day/77",
        "http://a.test/day/x",
        "http://a.test/",
        "http://b.test/day/77",
        "http://a.test/day/7",
    ]
    assert traps.admit([Url(url) for url in urls]).tolist() == [False, True, True, True, False]
    (trap,) = traps.report()
    assert trap == ("a.test", "a.test/day/#", "http://a.test/day/11", 12, 0, 12, 2, COPIES)
    assert traps.admit([]).tolist() == []


URLS = st.builds(
    "http://{}.test/{}/{}{}".format,
    st.sampled_from(["a", "b", "x.a", "y.a", "z.a"]),
    st.sampled_from(["day", "view", "s/0123456789abcdef", "s/deadbeef00000001", "w/w/w/w/w"]),
    st.integers(0, 40),
    st.sampled_from(["", "?p=1", "?p=1&q=2"]),
)
SEEN = st.tuples(URLS, st.none() | URLS, st.sampled_from([0.1, 0.9]), st.integers(0, 9), st.lists(URLS, max_size=3))


@given(st.lists(SEEN, max_size=120), st.lists(URLS, max_size=20))
def test_the_state_is_rebuilt_from_what_was_seen(
    seen: list[tuple[str, str | None, float, int, list[str]]], asked: list[str]
) -> None:
    """Also if the one asked about links in between, and the other did not."""
    live, replayed = Traps(), Traps()
    urls = [Url(url) for url in asked]
    for traps in (live, replayed):
        for url, parent, relevance, kind, brought in seen:
            if traps is live:
                traps.admit(urls)
            given = {"relevance": relevance, "twin": kind > 3, "thin": kind == 3}
            traps.saw(Url(url), Url(parent) if parent else None, **given, brought=[Url(u) for u in brought])  # type: ignore[arg-type]
    assert live.admit(urls).tolist() == replayed.admit(urls).tolist()
    told = [{trap._replace(held_back=0, example=Url("")) for trap in traps.report()} for traps in (live, replayed)]
    assert {trap for trap in told[0] if trap.why != REPEATED} == {trap for trap in told[1] if trap.why != REPEATED}


@given(st.lists(URLS, max_size=30))
def test_a_batch_is_judged_as_each_link_alone(asked: list[str]) -> None:
    traps = Traps()
    show(traps, (f"http://{'xyz'[n % 3]}.a.test/day/{n}" for n in range(60)))
    urls = [Url(url) for url in asked]
    assert traps.admit(urls).tolist() == [not traps.holds_back(url) for url in urls]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_PATTERNS", 100)
    monkeypatch.setattr(rules, "MOST_OF_SITE", 40)
    monkeypatch.setattr(rules, "MOST_CAPPED", 10)
    traps = Traps()
    for n in range(2_000):
        show(traps, [f"http://h{n % 17}.s{n % 30}.test/f{n}/g/{n % 3}?a={n}"], twin=n % 2 == 0)
        traps.admit([Url(f"http://h{n}.test/a/a/a/a/a/a")])
    assert sum(map(len, traps._sites.values())) == traps._remembered <= 100
    assert len(traps.report()) <= 2 * 10
    show(traps, (f"http://new.test/day/{n}" for n in range(12)))
    assert not traps.admit([Url("http://new.test/day/50")]).any()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test/", "a.test/"),
        ("http://a.test/day/2024-05-01", "a.test/day/#-#-#"),
        ("http://a1.test:81/x?b=1&a=2&b=3", "a1.test:81/x?a&b"),
        ("http://a.test/x?", "a.test/x"),
        ("http://a.test/s/5f3a9c01d2", "a.test/s/#"),
        ("http://a.test/s/123e4567-e89b-12d3-a456-426614174000", "a.test/s/#"),
        ("http://a.test/decade/facade", "a.test/decade/facade"),
        ("http://a.test/%C3%A9t%C3%A9/1", "a.test/%%t%%/#"),
    ],
)
def test_shapes(url: str, expected: str) -> None:
    assert shape(Url(url)) == expected


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_url_is_taken(path: str, query: str) -> None:
    url = RULES.canonical(f"http://a.test/{path}?{query}")
    if url is not None:
        traps = Traps()
        for _ in range(15):
            traps.saw(url, url, relevance=0, twin=True, thin=False, brought=[url])
        assert len(traps.admit([url])) == 1


@needs("uic")
def test_nothing_of_a_real_web_is_capped() -> None:
    """The pages and links of a university, as if nothing of it was wanted: there is no trap in it."""
    links = defaultdict[str, list[str]](list)
    with gzip.open(WEBS / "uic" / "edges.tsv.gz", "rt", encoding="utf-8") as lines:
        for source, target in csv.reader(lines, delimiter="\t"):
            links[source].append(target)
    seeds = [url for url in links if url.count("/") == 3][:20]
    walk = Walk(lambda url: Answer(re.sub(r"^https?://(www[.])?", "", url), links.get(url, ())), most=10_000).run(
        *seeds
    )
    assert len(walk.fetched) > 4_000
    assert not walk.capped
