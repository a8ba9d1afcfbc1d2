"""Google's published cases for its matcher, as a table, and what RFC 9309 gives as examples.

The cases are those of robots_test.cc in https://github.com/google/robotstxt (Apache License 2.0) that ask whether a URL
is allowed: 145. Where we answer otherwise, the table says why.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from forager.fetch.robots import LONGEST_LINE, parse_robots
from forager.types import Url

HERE = Url("http://foo.bar/robots.txt")


@dataclass(frozen=True)
class Case:
    """A file, an agent, and URLs that it may and may not ask for. A URL without a host is one of foo.bar."""

    file: str  # its lines, separated by |
    agent: str
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    # URLs of `yes` and `no` that we answer the other way round, and why
    differ: tuple[str, ...] = ()
    why: str = ""


def case(file: str, agent: str, yes: str = "", no: str = "", differ: str = "", why: str = "") -> Case:
    return Case(file, agent, tuple(yes.split()), tuple(no.split()), tuple(differ.split()), why)


GROUPS = (
    "allow: /foo/bar/||user-agent: FooBot|disallow: /|allow: /x/|user-agent: BarBot|disallow: /|allow: /y/|||"
    "allow: /w/|user-agent: BazBot||user-agent: FooBot|allow: /z/|disallow: /"
)
SITEMAP_BETWEEN = "User-agent: BarBot|Sitemap: https://foo.bar/sitemap|User-agent: *|Disallow: /"
UNKNOWN_BETWEEN = "User-agent: FooBot|Invalid-Unknown-Line: unknown|User-agent: *|Disallow: /"
SPACE = "User-Agent: *|Disallow: /|User-Agent: Foo Bar|Allow: /x/|Disallow: /"
EVERYBODY = "user-agent: *|allow: /|user-agent: FooBot|disallow: /"
OTHERS = "user-agent: FooBot|allow: /|user-agent: BarBot|disallow: /|user-agent: BazBot|disallow: /"
FOO = "user-agent: FooBot|"
CLOSED = f"{FOO}disallow: /|"
LONG = "a" * (2083 * 8 - 3 - len("disallow: ") + 1 - 3)
LONG_ALLOW = "a" * (2083 * 8 - 3 - len("allow: ") + 1 - 3)

ONE_ADDRESS = "RFC 9309, 2.2.2: octets beyond ASCII are escaped before comparison, in the URL too; it is one address"
UNRESERVED = "RFC 9309, 2.2.2: an escaped unreserved character is unescaped before comparison"
OUR_TOKEN = "we are given the whole name that we send, and look for its product token"

CASES = [
    # nothing given
    Case("", "FooBot", yes=("",)),
    Case(CLOSED, "", yes=("",)),
    Case(CLOSED, "FooBot", no=("",)),
    Case("", "", yes=("",)),
    # lines
    case(CLOSED, "FooBot", no="/x/y"),
    case("foo: FooBot|bar: /", "FooBot", yes="/x/y"),
    case("user-agent FooBot|disallow /", "FooBot", no="/x/y"),
    # groups
    case(GROUPS, "FooBot", yes="/x/b /z/d", no="/y/c /foo/bar/"),
    case(GROUPS, "BarBot", yes="/y/c /w/a", no="/z/d /foo/bar/"),
    case(GROUPS, "BazBot", yes="/z/d", no="/foo/bar/"),
    case(SITEMAP_BETWEEN, "FooBot", no="/"),
    case(SITEMAP_BETWEEN, "BarBot", no="/"),
    case(UNKNOWN_BETWEEN, "FooBot", no="/"),
    case(UNKNOWN_BETWEEN, "BarBot", no="/"),
    # upper and lower case of keys and agents
    case("USER-AGENT: FooBot|ALLOW: /x/|DISALLOW: /", "FooBot", yes="/x/y", no="/a/b"),
    case("user-agent: FooBot|allow: /x/|disallow: /", "FooBot", yes="/x/y", no="/a/b"),
    case("uSeR-aGeNt: FooBot|AlLoW: /x/|dIsAlLoW: /", "FooBot", yes="/x/y", no="/a/b"),
    *(
        case(f"User-Agent: {written}|Allow: /x/|Disallow: /", agent, yes="/x/y", no="/a/b")
        for written in ("FOO BAR", "foo bar", "FoO bAr")
        for agent in ("Foo", "foo")
    ),
    # an agent with a space
    case(SPACE, "Foo", yes="/x/y"),
    case(SPACE, "Foo Bar", no="/x/y", differ="/x/y", why=OUR_TOKEN),
    # the group of everybody
    case("", "FooBot", yes="/x/y"),
    case(EVERYBODY, "FooBot", no="/x/y"),
    case(EVERYBODY, "BarBot", yes="/x/y"),
    case(OTHERS, "QuxBot", yes="/x/y"),
    # upper and lower case of paths
    case(f"{FOO}disallow: /x/", "FooBot", no="/x/y"),
    case(f"{FOO}disallow: /X/", "FooBot", yes="/x/y"),
    # the longest match
    case(f"{FOO}disallow: /x/page.html|allow: /x/", "FooBot", no="/x/page.html"),
    case(f"{FOO}allow: /x/page.html|disallow: /x/", "FooBot", yes="/x/page.html", no="/x/"),
    case(f"{FOO}disallow: |allow: ", "FooBot", yes="/x/page.html"),
    case(f"{FOO}disallow: /|allow: /", "FooBot", yes="/x/page.html"),
    case(f"{FOO}disallow: /x|allow: /x/", "FooBot", yes="/x/", no="/x"),
    case(f"{FOO}disallow: /x/page.html|allow: /x/page.html", "FooBot", yes="/x/page.html"),
    case(f"{FOO}allow: /page|disallow: /*.html", "FooBot", yes="/page", no="/page.html"),
    case(f"{FOO}allow: /x/page.|disallow: /*.html", "FooBot", yes="/x/page.html", no="/x/y.html"),
    case("User-agent: *|Disallow: /x/|User-agent: FooBot|Disallow: /y/", "FooBot", yes="/x/page", no="/y/page"),
    # spellings
    case(
        f"{CLOSED}Allow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par",
        "FooBot",
        yes="/foo/bar?qux=taz&baz=http://foo.bar?tar&par",
    ),
    case(
        f"{CLOSED}Allow: /foo/bar/ツ",
        "FooBot",
        yes="/foo/bar/%E3%83%84",
        no="/foo/bar/ツ",
        differ="/foo/bar/ツ",
        why=ONE_ADDRESS,
    ),
    case(
        f"{CLOSED}Allow: /foo/bar/%E3%83%84",
        "FooBot",
        yes="/foo/bar/%E3%83%84",
        no="/foo/bar/ツ",
        differ="/foo/bar/ツ",
        why=ONE_ADDRESS,
    ),
    case(
        f"{CLOSED}Allow: /foo/bar/%62%61%7A",
        "FooBot",
        yes="/foo/bar/%62%61%7A",
        no="/foo/bar/baz",
        differ="/foo/bar/baz",
        why=UNRESERVED,
    ),
    # special characters
    case(
        f"{FOO}Disallow: /foo/bar/quz|Allow: /foo/*/qux",
        "FooBot",
        yes="/foo/quz /foo//quz /foo/bax/quz",
        no="/foo/bar/quz",
    ),
    case(
        f"{FOO}Disallow: /foo/bar$|Allow: /foo/bar/qux",
        "FooBot",
        yes="/foo/bar/qux /foo/bar/ /foo/bar/baz",
        no="/foo/bar",
    ),
    case(f"{FOO}# Disallow: /|Disallow: /foo/quz#qux|Allow: /", "FooBot", yes="/foo/bar", no="/foo/quz"),
    # the index of a folder
    case(
        "User-Agent: *|Allow: /allowed-slash/index.html|Disallow: /",
        "foobot",
        yes="/allowed-slash/ /allowed-slash/index.html",
        no="/allowed-slash/index.htm /anyother-url",
    ),
    # long lines
    case(f"{FOO}disallow: /x/{LONG}/qux", "FooBot", yes="/fux", no=f"/x/{LONG}/fux"),
    case(
        f"{CLOSED}allow: /x/{LONG_ALLOW}/qux|allow: /x/{LONG_ALLOW.replace('a', 'b')}/qux",
        "FooBot",
        yes=f"/x/{LONG_ALLOW}/qux /x/{LONG_ALLOW.replace('a', 'b')}/fux",
        no="/",
    ),
    # the documentation
    *(
        case(
            f"{CLOSED}allow: {pattern}",
            "FooBot",
            yes="/fish /fish.html /fish/salmon.html /fishheads /fishheads/yummy.html /fish.html?id=anything",
            no=f"/bar {capital} /catfish /?id=fish",
        )
        for pattern, capital in (("/fish", "/Fish.asp"), ("/fish*", "/Fish.bar"))
    ),
    case(
        f"{CLOSED}allow: /fish/",
        "FooBot",
        yes="/fish/ /fish/salmon /fish/?salmon /fish/salmon.html /fish/?id=anything",
        no="/bar /fish /fish.html /Fish/Salmon.html",
    ),
    case(
        f"{CLOSED}allow: /*.php",
        "FooBot",
        yes="/filename.php /folder/filename.php /folder/filename.php?parameters //folder/any.php.file.html "
        "/filename.php/ /index?f=filename.php/",
        no="/bar /php/ /index?php /windows.PHP",
    ),
    case(
        f"{CLOSED}allow: /*.php$",
        "FooBot",
        yes="/filename.php /folder/filename.php",
        no="/bar /filename.php?parameters /filename.php/ /filename.php5 /php/ /filename?php /aaaphpaaa //windows.PHP",
    ),
    case(
        f"{CLOSED}allow: /fish*.php",
        "FooBot",
        yes="/fish.php /fishheads/catfish.php?parameters",
        no="/bar /Fish.PHP",
    ),
    case(f"{FOO}allow: /p|disallow: /", "FooBot", yes="/page"),
    case(f"{FOO}allow: /folder|disallow: /folder", "FooBot", yes="/folder/page"),
    case(f"{FOO}allow: /page|disallow: /*.htm", "FooBot", no="/page.htm"),
    case(f"{FOO}allow: /$|disallow: /", "FooBot", yes="/", no="/page.html"),
]


def answers(given: Case) -> dict[str, bool]:
    rules = parse_robots(given.file.replace("|", "\n").encode(), given.agent, HERE)
    return {url: rules.allows(Url(f"http://foo.bar{url}" if url else "")) for url in (*given.yes, *given.no)}


@pytest.mark.parametrize("given", CASES, ids=range(len(CASES)))
def test_as_google_answers_or_with_a_reason(given: Case) -> None:
    expected = {**dict.fromkeys(given.yes, True), **dict.fromkeys(given.no, False)}
    assert {url for url, allowed in answers(given).items() if allowed != expected[url]} == set(given.differ)
    assert bool(given.differ) == bool(given.why)


def test_the_table_is_whole() -> None:
    assert sum(len(given.yes) + len(given.no) for given in CASES) == 145
    assert sum(len(given.differ) for given in CASES) == 4
    assert len(f"disallow: /x/{LONG}/") == len(f"allow: /x/{LONG_ALLOW}/") == LONGEST_LINE


# RFC 9309, section 2.2.2: a path, and the path that it is compared as.
SPELLINGS = [
    ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
    ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
    ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
]


@pytest.mark.parametrize(("written", "compared"), SPELLINGS)
def test_spellings_of_the_rfc(written: str, compared: str) -> None:
    for rule, path in ((written, compared), (compared, written), (written, written), (compared, compared)):
        assert answers(case(f"{FOO}disallow: {rule}", "FooBot", no=path)) == {path: False}


# RFC 9309, section 5, and the tables of 2.2.1 and 2.2.3.
RFC = (
    "User-Agent: *|Disallow: *.gif$|Disallow: /example/|Allow: /publications/||User-Agent: foobot|Disallow:/|"
    "Allow:/example/page.html|Allow:/example/allowed.gif||User-Agent: barbot|User-Agent: bazbot|"
    "Disallow: /example/page.html||User-Agent: quxbot|"
)
EXAMPLES = [
    case(RFC, "foobot", yes="/example/page.html /example/allowed.gif", no="/ /a.gif /publications/"),
    case(RFC, "barbot", yes="/ /a.gif /example/", no="/example/page.html"),
    case(RFC, "bazbot", yes="/publications/", no="/example/page.html"),
    case(RFC, "quxbot", yes="/ /a.gif /example/page.html"),
    case(RFC, "other", yes="/ /publications/ /a.gif?x", no="/a.gif /example/page.html"),
    case(
        "User-Agent: foobot|Allow: /example/page/|Disallow: /example/page/disallowed.gif",
        "foobot",
        yes="/example/page/",
        no="/example/page/disallowed.gif",
    ),
    case(
        "user-agent: ExampleBot|disallow: /foo|disallow: /bar||user-agent: ExampleBot|disallow: /baz",
        "ExampleBot/0.1",
        yes="/qux",
        no="/foo /bar /baz",
    ),
    case(
        "user-agent: *|disallow: /foo|disallow: /bar||user-agent: BazBot|disallow: /baz",
        "ExampleBot",
        yes="/baz",
        no="/foo /bar",
    ),
    case(f"{FOO}disallow: /path/file-with-a-%2A.html", "FooBot", yes="/path/file-with-a-b.html"),
    case(f"{FOO}disallow: /path/file-with-a-%2A.html", "FooBot", no="/path/file-with-a-*.html"),
    case(f"{FOO}disallow: /path/foo-%24", "FooBot", yes="/path/foo-", no="/path/foo-$"),
]


@pytest.mark.parametrize("given", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_of_the_rfc(given: Case) -> None:
    assert answers(given) == {**dict.fromkeys(given.yes, True), **dict.fromkeys(given.no, False)}
