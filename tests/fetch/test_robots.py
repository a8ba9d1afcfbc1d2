"""robots.txt: which rule decides, which rules are for us, and what is allowed if the file cannot be read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.clock import VirtualClock
from forager.fetch.robots import LARGEST, Robots, RobotsRules, parse_robots
from forager.types import Answer, Failure, Fetch, Reason, Redirect, Url
from forager.web.urls import RULES
from tests.fetch.wire import Wire, fetcher, page

HOST = Url("http://h.test/robots.txt")
AGENT = "Forager/1.0 (+me@example.org)"


def rules_of(text: str | bytes, agent: str = AGENT) -> RobotsRules:
    return parse_robots(text if isinstance(text, bytes) else text.encode(), agent, HOST)


def allows(text: str | bytes, path: str, agent: str = AGENT) -> bool:
    url = RULES.canonical(f"http://h.test{path}")
    assert url
    return rules_of(text, agent).allows(url)


# The rules of one group for us; paths that are allowed; paths that are not allowed.
PATTERNS: list[tuple[str, str, str]] = [
    ("", "/ /a", ""),
    ("disallow:", "/ /a", ""),
    ("allow:\ndisallow:", "/a", ""),
    ("disallow: /", "/robots.txt", "/ /a /robots.txt.bak"),
    ("disallow: /x", "/ /y /X /a/x", "/x /x/ /xyz /x?q"),
    ("disallow: /x/", "/x /X/", "/x/ /x/y"),
    # the longest rule decides; if two are equally long, allow does
    ("disallow: /x/page.html\nallow: /x/", "/x/", "/x/page.html"),
    ("allow: /x/page.html\ndisallow: /x/", "/x/page.html", "/x/"),
    ("disallow: /\nallow: /", "/a", ""),
    ("disallow: /x\nallow: /x/", "/x/", "/x"),
    ("disallow: /page\nallow: /page", "/page", ""),
    ("allow: /page\ndisallow: /*.html", "/page", "/page.html"),
    ("allow: /x/page.\ndisallow: /*.html", "/x/page.html", "/x/y.html"),
    ("allow: /p\ndisallow: /", "/page", "/a"),
    ("allow: /folder\ndisallow: /folder", "/folder/page", ""),
    ("allow: /page\ndisallow: /*.htm", "", "/page.htm"),
    ("allow: /$\ndisallow: /", "/", "/page.html /?q"),
    # stars and ends
    ("disallow: /\nallow: /fish", "/fish /fish.html /fish/a /fishheads /fish?id=1", "/Fish.asp /catfish /?id=fish"),
    ("disallow: /\nallow: /fish*", "/fish /fish.html /fishheads/yummy.html", "/Fish /catfish"),
    ("disallow: /\nallow: /fish/", "/fish/ /fish/?id=1 /fish/salmon", "/fish /fish.html"),
    ("disallow: /\nallow: /*.php", "/f.php /a/f.php?x /a.php.html /i?f=f.php/", "/ /windows.PHP /php/ /i?php"),
    ("disallow: /\nallow: /*.php$", "/f.php /a/f.php", "/f.php?x /f.php/ /f.php5 /a.phpa"),
    ("disallow: /\nallow: /fish*.php", "/fish.php /fishheads/catfish.php?p", "/Fish.PHP /fish.html"),
    ("disallow: /foo/*/qux", "/foo/qux /foo/a/quz", "/foo/a/qux /foo/a/b/qux/c /foo//qux"),
    ("disallow: *", "", "/ /a"),
    ("disallow: *.gif$", "/a.gif?x /a.gifs", "/a.gif /b/c.gif"),
    ("disallow: /*a*b*c$", "/abcd /cba", "/abc /xaxbxc /aabbcc /abcbc"),
    ("disallow: /**//**x", "/a/x", "/a//x"),
    ("disallow: /a$b", "/a /ab", "/a$b /a%24bc"),
    ("disallow: /a$$", "/a", "/a$"),
    ("disallow: $", "/ /a", ""),
    ("disallow: x", "/ /x", ""),
    ("disallow: /a[b]c", "/abc", "/a[b]c"),
    ("disallow: /*[b]", "/ab", "/a[b]"),
    ("disallow: /*?id=1$", "/axid=1 /a?id=12", "/a?id=1"),
    ("disallow: /a//b", "/a/b", "/a//b"),
    ("disallow: /*?", "/a", "/a?b /a/?x=y"),
    # spellings
    ("disallow: /ツ", "/a", "/ツ /%E3%83%84 /%e3%83%84"),
    ("disallow: /%e3%83%84", "/a", "/ツ /%E3%83%84/x"),
    ("disallow: /%62%61%7A", "/ba", "/baz /%62%61%7A"),
    ("disallow: /~user", "/user", "/~user /%7Euser /%7euser"),
    ("disallow: /%7euser", "/user", "/~user"),
    ("disallow: /a%2Fb", "/a/b", "/a%2fb"),
    ("disallow: /a/b", "/a%2Fb", "/a/b"),
    ("disallow: /a%2Ab", "/axb", "/a*b /a%2ab"),
    ("disallow: /a%24", "/a /ab", "/a$ /a$b"),
    ("disallow: /a b", "/ab /a", "/a%20b"),
    ('disallow: /"q"', "/q", "/%22q%22"),
    ("disallow: /a%3Fb", "/a?b", "/a%3fb"),
    ("disallow: /100%", "/100", "/100%25"),
    ("allow: /?q=http://x.test/?a&b\ndisallow: /", "/?q=http://x.test/?a&b", "/?q=http:/x.test"),
    # the index of a folder
    ("allow: /dir/index.html\ndisallow: /", "/dir/ /dir/index.html", "/dir /dir/index.htm /dir/x /"),
    ("disallow: /dir/index.html", "/dir/", "/dir/index.html"),
    # comments and misspelt lines
    ("# disallow: /\ndisallow: /foo#bar\nallow: /", "/a", "/foo"),
    ("disallow /x", "/a", "/x"),
    ("DisAllow : /x", "/a", "/x"),
    ("dissallow: /x\ndisalow: /y", "/a", "/x /y"),
    ("disallow: /x\nnoindex: /y\nfoo\n: /z\nhost: h", "/y /z", "/x"),
    ("crawl-delay: 5\nsitemap: /s.xml\ndisallow: /x", "/a", "/x"),
]


@pytest.mark.parametrize(("lines", "yes", "no"), PATTERNS)
def test_patterns(lines: str, yes: str, no: str) -> None:
    text = f"user-agent: forager\n{lines}\n"
    assert [path for path in yes.split() if not allows(text, path)] == []
    assert [path for path in no.split() if allows(text, path)] == []


# A whole file; whether we may fetch /x. Our token is "forager".
GROUPS: list[tuple[str, bool]] = [
    ("disallow: /", True),  # before any agent
    ("user-agent: forager\ndisallow: /", False),
    ("USER-AGENT: FORAGER\nDISALLOW: /", False),
    ("user-agent: *\ndisallow: /", False),
    ("user-agent: * \t\ndisallow: /", False),
    ("user-agent: * bots\ndisallow: /", False),
    ("user-agent: *bots\ndisallow: /", True),
    ("user-agent: other\ndisallow: /", True),
    ("user-agent: forage\ndisallow: /", True),
    ("user-agent: foragers\ndisallow: /", True),
    ("user-agent: forager-image\ndisallow: /", True),
    ("user-agent: forager/2.1 (search engine)\ndisallow: /", False),
    ("user-agent: forager crawler\ndisallow: /", False),
    ("user-agent: forager2\ndisallow: /", False),  # a token ends at the first digit
    ("user-agent forager\ndisallow /", False),
    ("useragent: forager\ndisallow: /", False),
    ("foo: forager\nbar: /", True),
    ("user-agent: *\ndisallow: /\nuser-agent: forager\nallow: /", True),
    ("user-agent: forager\nallow: /\nuser-agent: *\ndisallow: /", True),
    ("user-agent: *\ndisallow: /\nuser-agent: forager\n", True),  # our group is empty
    ("user-agent: *\ndisallow: /\nuser-agent: forager\ndisallow: /y", True),
    ("user-agent: other\nuser-agent: forager\ndisallow: /", False),
    ("user-agent: forager\nuser-agent: other\ndisallow: /", False),
    ("user-agent: forager\n\n\nuser-agent: other\n\ndisallow: /", False),
    ("user-agent: forager\nallow: /y\nuser-agent: other\ndisallow: /", True),
    ("user-agent: forager\ncrawl-delay: 1\nuser-agent: other\ndisallow: /", False),
    ("user-agent: forager\nsitemap: /s\nuser-agent: other\ndisallow: /", False),
    ("user-agent: forager\nallow: /y\nuser-agent: other\nallow: /\nuser-agent: forager\ndisallow: /", False),
    ("user-agent: forager\nallow: /y\n\ndisallow: /", False),  # an empty line does not end a group
    ("user-agent: *\nallow: /\n\nuser-agent: 360Spider\ndisallow: /", True),  # an agent without a token
    ("user-agent: *\nallow: /\n\nuser-agent: Яндекс\ndisallow: /", True),
    ("user-agent: *\nallow: /\n\nuser-agent:\ndisallow: /", True),
    ("user-agent: forager\rdisallow: /\r", False),
    ("user-agent: forager\r\ndisallow: /\r\n", False),
    ("\n\r\n  user-agent:forager  \n\t disallow:/  \n", False),
    ("\ufeffuser-agent: forager\ndisallow: /", False),
    ("user-agent: forager\n\ufeffdisallow: /", True),
    ("<html><body>user-agent: forager<br>disallow: /</body></html>", True),
    ("user-agent: forager # that is us\ndisallow: / # all", False),
]


@pytest.mark.parametrize(("text", "allowed"), GROUPS)
def test_groups(text: str, allowed: bool) -> None:
    assert allows(text, "/x") == allowed


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
def test_byte_order_marks_also_in_part(mark: bytes) -> None:
    assert not allows(mark + b"user-agent: *\ndisallow: /", "/x")


def test_bytes_of_no_charset() -> None:
    assert not allows(b"user-agent: *\ndisallow: /caf\xe9", "/caf%E9")
    assert allows(b"\xff\xfeu\0s\0e\0r\0", "/x")


def test_delay_and_sitemaps() -> None:
    text = (
        "Sitemap: http://h.test/one.xml\nuser-agent: *\ncrawl-delay: 7\nsitemap: /two.xml\ndisallow: /x\n"
        "user-agent: slow\ncrawl-delay: 2.5\nsitemap:http://other.test/3#x\nuser-agent: slow\ncrawl-delay: 1\n"
        "user-agent: odd\ncrawl-delay: soon\ncrawl-delay: -1\ncrawl-delay: nan\ncrawl-delay: inf\nsitemap:\nsitemap: ftp://x"
    )
    rules = rules_of(text)
    assert rules.delay == 7
    assert rules.sitemaps == ("http://h.test/one.xml", "http://h.test/two.xml", "http://other.test/3")
    assert rules_of(text, "slow").delay == 2.5
    assert rules_of("user-agent: odd\ncrawl-delay: soon\ncrawl-delay: -1\ncrawl-delay: nan", "odd").delay is None


def test_of_a_long_file_the_start_is_read_to_a_whole_line() -> None:
    long = b"user-agent: *\ndisallow: /x\n" + b"#\n" * (LARGEST // 2 - 20) + b"allow: /x/abcdefghijklmnop\ndisallow: /z"
    rules = rules_of(long)
    assert len(long) > LARGEST
    assert [rule.pieces for rule in rules.rules] == [("/x",)]


def test_patterns_made_to_take_long() -> None:
    """A matcher that tries all ways to match a pattern would take for ever."""
    text = "user-agent: *\n" + "".join(f"disallow: /{'*a' * 500}{n}$\n" for n in range(400))
    assert allows(text, "/" + "a" * 1900)


@given(st.binary(max_size=400), st.text(max_size=60))
def test_any_bytes_are_a_file_and_any_url_is_answered(body: bytes, path: str) -> None:
    url = RULES.canonical("http://h.test/" + path)
    if url:
        rules_of(b"user-agent: *\ndisallow: " + body).allows(url)


@given(st.text(alphabet="ab/*$", max_size=8), st.text(alphabet="ab/", max_size=8))
def test_matching_is_that_of_a_regular_expression(pattern: str, path: str) -> None:
    end = "$" if pattern.endswith("$") else ""
    expression = re.escape(pattern.removesuffix("$")).replace(r"\*", ".*").replace(r"\$", "%24") + end
    expected = bool(re.match(expression, f"/{path}")) and bool(pattern)
    assert rules_of(f"user-agent: *\ndisallow: {pattern}").allows(Url(f"http://h.test/{path}")) != expected


# ---- where the rules come from --------------------------------------------------------------------------------------


class Web:
    """Answers by URL, and counts the requests. A URL without an answer is not found."""

    def __init__(self, answers: Mapping[str, Answer | bytes]) -> None:
        self.answers, self.asked = dict(answers), list[str]()

    async def fetch(self, url: Url) -> Answer:
        self.asked.append(url)
        await asyncio.sleep(0)
        answer = self.answers.get(url, Failure(url, Reason.NOT_FOUND))
        return Fetch(url, answer, "text/plain") if isinstance(answer, bytes) else answer


CLOSED = b"user-agent: *\ndisallow: /\ncrawl-delay: 999"
X = Url("http://h.test/x")


def test_asked_once_a_day_for_each_origin() -> None:
    web, clock = Web({HOST: CLOSED}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock, longest_delay=30)

    async def run() -> None:
        assert robots.known(X) is None
        several = await asyncio.gather(*(robots.rules(X) for _ in range(5)))
        assert all(rules is robots.known(X) for rules in several)
        assert not several[0].allows(X)
        assert several[0].delay == 30
        assert web.asked == [HOST]
        await robots.rules(Url("https://h.test/x"))
        await robots.rules(Url("http://h.test:81/x"))
        assert web.asked[1:] == ["https://h.test/robots.txt", "http://h.test:81/robots.txt"]
        clock.spend(86_399)
        assert robots.known(X)
        clock.spend(2)
        assert robots.known(X) is None
        web.answers[HOST] = b""
        assert (await robots.rules(X)).allows(X)

    asyncio.run(run())


@pytest.mark.parametrize("reason", [Reason.NOT_FOUND, Reason.CLIENT_ERROR, Reason.BAD_REDIRECT])
def test_without_a_file_everything_is_allowed(reason: Reason) -> None:
    robots = Robots(Web({HOST: Failure(HOST, reason)}).fetch, AGENT, clock=VirtualClock())
    assert asyncio.run(robots.rules(X)) == RobotsRules()


@pytest.mark.parametrize("reason", [Reason.SERVER_ERROR, Reason.BUSY, Reason.TIMEOUT, Reason.UNREACHABLE, Reason.DNS])
@pytest.mark.parametrize(("retry_after", "wait"), [(None, 600), (5.0, 600), (2000.0, 2000)])
def test_a_file_that_cannot_be_had_forbids_all_for_a_while(
    reason: Reason, retry_after: float | None, wait: float
) -> None:
    failure = Failure(HOST, reason, retry_after=retry_after)
    web, clock = Web({HOST: failure}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock)
    rules = asyncio.run(robots.rules(X))
    assert not rules.allows(X)
    assert rules.problem is failure
    clock.spend(wait - 1)
    assert robots.known(X) is rules
    clock.spend(2)
    web.answers[HOST] = b"user-agent: *\nallow: /"
    assert asyncio.run(robots.rules(X)).allows(X)
    assert len(web.asked) == 2


def test_what_was_known_holds_while_the_file_cannot_be_had() -> None:
    web, clock = Web({HOST: b"user-agent: *\ndisallow: /y"}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock)
    first = asyncio.run(robots.rules(X))
    clock.spend(90_000)
    web.answers[HOST] = Failure(HOST, Reason.SERVER_ERROR)
    assert asyncio.run(robots.rules(X)) is first
    clock.spend(601)
    assert robots.known(X) is None


def test_redirects_are_followed_to_other_hosts_too() -> None:
    hops = [HOST, Url("https://h.test/robots.txt"), Url("http://other.test/a"), Url("http://other.test/b")]
    answers: dict[str, Answer | bytes] = {here: Redirect(here, there) for here, there in pairwise(hops)}
    robots = Robots(Web({**answers, hops[-1]: CLOSED}).fetch, AGENT, clock=VirtualClock())
    assert not asyncio.run(robots.rules(X)).allows(X)


def test_after_five_hops_there_is_no_file() -> None:
    def chain(length: int) -> Web:
        urls = [HOST, *(Url(f"http://h.test/{n}") for n in range(length))]
        hops: dict[str, Answer | bytes] = {urls[n]: Redirect(urls[n], urls[n + 1]) for n in range(length)}
        return Web({**hops, urls[-1]: CLOSED})

    for length, allowed, asked in ((5, False, 6), (6, True, 6), (50, True, 6)):
        web = chain(length)
        assert asyncio.run(Robots(web.fetch, AGENT, clock=VirtualClock()).rules(X)).allows(X) == allowed
        assert len(web.asked) == asked


def test_a_cancelled_reader_leaves_the_next_one_to_read() -> None:
    web = Web({HOST: CLOSED})

    async def run() -> None:
        robots = Robots(web.fetch, AGENT, clock=VirtualClock())
        first, second = (asyncio.create_task(robots.rules(X)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert not (await second).allows(X)

    asyncio.run(run())
    assert len(web.asked) == 2


def test_only_so_many_are_kept() -> None:
    robots = Robots(Web({}).fetch, AGENT, clock=VirtualClock(), most=3)
    urls = [Url(f"http://h{n}.test/") for n in range(5)]
    for url in urls:
        asyncio.run(robots.rules(url))
    assert [bool(robots.known(url)) for url in urls] == [False, False, True, True, True]


def test_over_the_wire_of_any_type_and_only_the_start() -> None:
    async def run() -> tuple[RobotsRules, list[bytes]]:
        body = CLOSED + b"\n" + b"# much more\n" * 200_000
        async with Wire({"/robots.txt": page(body, kind="image/png")}) as wire, fetcher() as client:
            fetch = partial(client.fetch_start, largest=LARGEST)
            robots = Robots(fetch, client.agent, clock=VirtualClock())
            return await robots.rules(wire.url("/x")), wire.requests

    rules, requests = asyncio.run(run())
    assert not rules.allows(X)
    assert len(requests) == 1
