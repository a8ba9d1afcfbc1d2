"""robots.txt: which rule decides, which rules are for us, and that no file is too much work."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.fetch.robots import LARGEST, RobotsRules, parse_robots
from forager.types import Url
from forager.web.urls import RULES

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
    assert rules.patterns == "/x"


def test_a_group_that_is_named_again_and_again_has_its_rules_once() -> None:
    """A file that gzip makes 222 bytes of took 1.8 GB."""
    rules = rules_of("user-agent: *\n" * 1000 + "disallow: /x\nallow: /y\n" * 1000)
    assert (rules.patterns, rules.allowing) == ("/y\n/x", b"\1\0")
    distinct = "".join(f"disallow: /{n}\n" for n in range(1000))
    assert rules_of("user-agent: *\n" * 1000 + distinct).size < len(distinct)


def test_stars_that_say_nothing_count_for_the_length_only() -> None:
    rules = rules_of("user-agent: *\ndisallow: /a*****$\nallow: /a/b\ndisallow: /*\nallow: /c**d*\ndisallow: /c*d")
    assert rules.patterns.split("\n") == ["/a", "/c*d", "/a/b", "/"]
    assert rules.allowing == b"\0\1\1\0"


# Files of half a megabyte, each with another thing that could multiply.
LARGE = {
    "stars": "disallow: /" + "*" * 15_000,
    "pieces": "disallow: /" + "*a" * 7_000,
    "escapes": "disallow: /" + "\u00e9" * 7_000,
    "queries": "disallow: /?" + "/:" * 7_000,
    "index": "allow: /index.html",
    "agents": "user-agent: *\nuser-agent: forager",
    "sitemaps": "sitemap: /s",
    "delays": "crawl-delay: 1",
    "ends": "disallow: /$",
}


@pytest.mark.parametrize("lines", LARGE.values(), ids=LARGE.keys())
def test_rules_are_not_larger_than_their_file_allows(lines: str) -> None:
    body = b"user-agent: *\ndisallow: /x\n"
    body += b"".join(f"{lines}{n}\n".encode() for n in range((LARGEST - 100) // (len(lines.encode()) + 4)))
    rules = rules_of(body)
    assert rules.size < 8 * LARGEST
    assert rules.patterns.count("\n") <= 3 * body.count(b"\n")
    assert len(rules.sitemaps) <= 1_000
    assert rules.allows(Url("http://h.test/a"))


def test_much_matching_is_told_before_it_is_done() -> None:
    lines = "".join(f"disallow: /*a{n}*b\n" for n in range(30_000))
    long, short = Url("http://h.test/" + "a" * 1_900), Url("http://h.test/a")
    assert rules_of("user-agent: *\n" + lines[:4_000]).is_quick(long)
    assert not rules_of("user-agent: *\n" + lines[:20_000]).is_quick(long)
    assert rules_of("user-agent: *\n" + lines[:20_000]).is_quick(short)
    assert not rules_of("user-agent: *\n" + lines).is_quick(short)


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


PATTERN = st.text(alphabet="ab/**", max_size=6).map("/".__add__)


@given(st.lists(st.tuples(PATTERN, st.sampled_from(["", "$"]), st.booleans())), st.text(alphabet="ab/", max_size=8))
def test_the_longest_of_the_rules_that_match_decides(rules: list[tuple[str, str, bool]], path: str) -> None:
    lines = [f"{'allow' if allow else 'disallow'}: {pattern}{end}" for pattern, end, allow in rules]
    matching = [
        (len(pattern + end), allow)
        for pattern, end, allow in rules
        if re.match(pattern.replace("*", ".*") + end, f"/{path}")
    ]
    expected = max(matching, default=(0, True))[1]
    assert rules_of("\n".join(["user-agent: *", *lines])).allows(Url(f"http://h.test/{path}")) == expected
