"""One canonical form: the same address gives one string, different addresses give different strings."""

from ipaddress import ip_address
from pathlib import Path

import publicsuffixlist
import pytest
from ada_url import join_url
from hypothesis import example, given, settings
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from forager.types import Url
from forager.web import urls
from forager.web.urls import RULES, UrlRules, host, site

WHOLE = PublicSuffixList()
SAME = [
    ("HTTP://Example.COM:80/a/../b", "http://example.com/b"),
    ("https://example.com:443", "https://example.com/"),
    ("http://example.com/#top", "http://example.com/"),
    ("http://example.com/?", "http://example.com/"),
    ("http://example.com./x", "http://example.com/x"),
    ("http://example.com.:8080/x", "http://example.com:8080/x"),
    ("http://me:secret@example.com/", "http://example.com/"),
    ("http://example.com/%7euser/%c3%a4", "http://example.com/~user/%C3%A4"),
    ("http://example.com/a/%2e%2e/b", "http://example.com/b"),
    ("http://example.com/100%", "http://example.com/100%25"),
    ("http://example.com/%%34%31", "http://example.com/%2541"),
    ("http://münchen.de/straße", "http://xn--mnchen-3ya.de/stra%C3%9Fe"),
    ("http://example.com/a?utm_source=x&id=3&fbclid=y", "http://example.com/a?id=3"),
    ("http://example.com/a?PHPSESSID=99", "http://example.com/a"),
    ("http://example.com/a;jsessionid=1F?x=1", "http://example.com/a?x=1"),
    ("http://example.com/a?b=1&&c=2&", "http://example.com/a?b=1&c=2"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("  http://example.com/\n", "http://example.com/"),
    ("http://example.com\\a", "http://example.com/a"),
    ("http://2130706433../", "http://127.0.0.1/"),  # a number, once its dots are gone
    ("http://example.com../x", "http://example.com/x"),
    ("http://example.com/a/%2e;jsessionid=1", "http://example.com/a/"),  # a dot segment, once the session is gone
    ("http://example.com/a/..;jsessionid=1/b", "http://example.com/b"),
    ("http://example.com/a;b;jsessionid=1;c", "http://example.com/a;b;c"),
]


@pytest.mark.parametrize(("spelling", "canonical"), SAME)
def test_one_form_for_each_address(spelling: str, canonical: str) -> None:
    assert RULES.canonical(spelling) == canonical


NO_PAGES = ["", "x", "ftp://a/b", "mailto:a@b.c", "javascript:void(0)", "http://", "http://a b/"]
NO_HOSTS = ["http://./", "http://.:0/", "http://..:80/", "http://%2E:0080/", "https://。:1/", "http://a.256../"]


@pytest.mark.parametrize("text", NO_PAGES + NO_HOSTS)
def test_what_is_no_page_address_is_none(text: str) -> None:
    assert RULES.canonical(text) is None


@pytest.mark.parametrize("text", NO_HOSTS)
def test_a_reference_to_no_host_is_none(text: str) -> None:
    assert RULES.join(Url("http://a.b/"), text) is None


def test_what_differs_stays_apart() -> None:
    texts = [
        "http://a.b/x",
        "https://a.b/x",
        "http://a.b/X",
        "http://a.b/x/",
        "http://a.b/x?y",
        "http://a.b/x?y=",
        "http://a.b:81/x",
    ]
    assert len({RULES.canonical(text) for text in texts}) == len(texts)
    # a double escape is not an escape: a recorded web may name its files with percent signs
    assert RULES.canonical("http://a.b/%25C3%2581") == "http://a.b/%25C3%2581"
    assert RULES.canonical("http://a.b/%2Fc") == "http://a.b/%2Fc"


def test_content_parameters_are_kept() -> None:
    assert RULES.canonical("http://a.b/?sid=7&ref=home&gclidx=1") == "http://a.b/?sid=7&ref=home&gclidx=1"


def test_the_list_of_stripped_parameters_can_be_extended() -> None:
    rules = UrlRules(strip=("sid", "trk_*"))
    assert rules.canonical("http://a.b/?sid=7&x=1&trk_from=z&utm_id=3") == "http://a.b/?x=1"


def test_length_limit_counts_the_canonical_form() -> None:
    rules = UrlRules(longest=40)
    assert rules.canonical("http://example.com/" + "a" * 21) is not None
    assert rules.canonical("http://example.com/" + "a" * 22) is None
    assert rules.canonical("http://example.com/?utm_campaign=" + "a" * 60) == "http://example.com/"


def test_join() -> None:
    base = Url("http://a.b/c/d.html?q=1")
    assert RULES.join(base, "../e#f") == "http://a.b/e"
    assert RULES.join(base, "?q=2") == "http://a.b/c/d.html?q=2"
    assert RULES.join(base, "//x.y") == "http://x.y/"
    assert RULES.join(base, "mailto:a@b") is None
    assert RULES.join(base, "http://[") is None


def parsed(rules: UrlRules, base: Url, href: str) -> Url | None:
    """The target as parsing gives it, for any reference."""
    try:
        return rules._canonical(join_url(base, href))
    except (ValueError, UnicodeError):
        return None


BASES = [
    "http://a.b/",
    "https://a.b:81/c/d/e.html",
    "http://a.b/c//d/?q=/x/y",
    "http://a.b/..c/%2F/~d",
    "http://[::1]/x/",
]
PIECES = [
    "http://",
    "https://",
    "x.yz",
    "10.0.0.1",
    "0x7f",
    "xn--a",
    "XN--",
    ":80",
    "/",
    "//",
    "../",
    "./",
    "..",
    ".",
    "%2e",
]
PIECES += [
    "%2E",
    "%25",
    "%C3",
    "%c3",
    "%7E",
    "%",
    "?",
    "&",
    "=",
    "utm_id=1",
    "GCLID",
    "a=b",
    "a",
    "Z9_~",
    ";jsessionid=1",
]
PIECES += ["#", "#t.op", ":", "@", "\\", " ", "\t", "ä", "\ud800", "'", "-", "^", "|", "http:", "x" * 60, "+,!$()*"]


@given(st.sampled_from(BASES), st.lists(st.sampled_from(PIECES), max_size=8))
@settings(max_examples=2000)
def test_references_put_together_are_those_parsed(base: str, pieces: list[str]) -> None:
    here, href, rules = RULES.canonical(base), "".join(pieces), UrlRules(longest=100)
    assert here is not None
    expected = parsed(rules, here, href)
    assert rules.join(here, href) == expected
    assert rules.join(here, href) == expected  # remembered


HOSTS = ["//", "2130706433", "0x7f.1", "256", "1e3", "08", "[::1]", "[", "]", "u:p@", ":0", ":00080", ":443", ":65536"]
HOSTS += ["xn--mnchen-3ya", "xn--nxasmq6b", "münchen", "ß", "İ", "。", "．", "\u200d", "\xad", "日本", "😀", "co.uk"]
PATHS = [
    ";",
    ";JSESSIONID=",
    ";phpsessid=a.b",
    "%3b",
    ".%2e",
    "...",
    "%%",
    "%2",
    "%00",
    "&&",
    "phpsessid=1",
    "%75tm_id",
]
PATHS += ["\x00", "\x01", "\x7f", "\x80", "\xa0", "\n", "\r", "`", "{", '"', "<", "javascript:", "file:///", "y" * 64]


@given(
    st.sampled_from(["", "http://", "https://", "//", "http://a.b/", "http://a.b/c?"]),
    st.lists(st.sampled_from(PIECES + HOSTS + PATHS), max_size=8),
)
@settings(max_examples=400)
@example("http://", ["2130706433", "..", "/"])
@example("http://", [".", ":0", "/"])
@example("http://a.b/", ["%2e", ";jsessionid=1"])
def test_a_canonical_url_stays_as_it_is(start: str, pieces: list[str]) -> None:
    text = start + "".join(pieces)
    for url in (RULES.canonical(text), RULES.join(Url("https://a.b:81/c/d/e.html"), text)):
        if url is not None:
            assert RULES.canonical(url) == RULES.join(Url("http://x.y/z"), url) == url
            assert url.isascii()
            assert url.isprintable()
            assert " " not in url
            assert site(host(url)) in host(url)
            assert not {"@", "#"} & set(url.partition("?")[0].partition("://")[2].partition("/")[0])


@pytest.mark.parametrize("above", range(6))
def test_folders_above_a_page(above: int) -> None:
    for base in map(Url, ["http://a.b/c/d/e?f/g", "http://a.b/", "http://a.b/c//d/e", "https://localhost/c/"]):
        assert urls._folder(base, above) + "x" == parsed(RULES, base, "../" * above + "x")


def test_what_is_remembered_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urls, "_REMEMBERED", 3)
    monkeypatch.setattr(urls, "_NAMES", 3)
    rules = UrlRules()
    for n in range(20):
        assert rules.join(Url("http://a.b/c"), f"d{n}?e{n}=1") == f"http://a.b/d{n}?e{n}=1"
        rules.join(Url("http://a.b/c"), f"{'x' * 10_000}{n}")
        rules.join(Url("http://a.b/c"), f"d?{'x' * 10_000}{n}#{'y' * 400}")
    assert len(rules._joined) <= 3
    assert max(len(name) for name in rules._names) < 10
    assert len(rules._names) <= 3


@given(st.text(alphabet="ab%2541zZ/.?&=;#:@ ä[]\\\x00\ud800", max_size=40))
def test_canonical_is_idempotent_and_never_raises(tail: str) -> None:
    once = RULES.canonical("http://a.b/" + tail)
    if once is not None:
        assert RULES.canonical(once) == once
        assert host(once) == "a.b"


@given(st.text(max_size=60))
def test_any_text_gives_a_url_or_none(text: str) -> None:
    url = RULES.join(Url("http://a.b/c"), text)
    if url is not None:
        assert RULES.canonical(url) == url
        assert url.startswith(("http://", "https://"))
        assert site(host(url))


def test_host_and_registrable_site() -> None:
    assert host(Url("http://www.cs.cornell.edu/a")) == "www.cs.cornell.edu"
    assert host(Url("http://a.b:8080/")) == "a.b:8080"
    assert site("www.cs.cornell.edu") == "cornell.edu"
    assert site("a.b.co.uk") == site("c.b.co.uk") == "b.co.uk"
    assert site("10.0.0.1") == "10.0.0.1"
    assert site("10.0.0.1:8080") == "10.0.0.1"
    assert site("[::1]:8080") == site("[::1]") == "[::1]"
    assert site("localhost") == "localhost"
    assert site("co.uk") == "co.uk"
    assert site("a.b.xn--55qx5d.cn") == "b.xn--55qx5d.cn"  # a suffix, which is written in Chinese
    assert site("a.xn--b.cn") == "xn--b.cn"


def test_sites_are_those_of_the_whole_list() -> None:
    names = Path(publicsuffixlist.PSLFILE).read_text(encoding="utf-8").splitlines()
    suffixes = [name.removeprefix("*.").removeprefix("!") for name in names if name and not name.startswith("//")]
    assert len(suffixes) > 5_000
    for suffix in suffixes:
        for name in (f"a.b.{suffix}", f"b.{suffix}", suffix):
            encoded = name.encode("idna").decode()
            assert site(encoded) == (WHOLE.privatesuffix(encoded) or encoded)


LABELS = [
    "a",
    "b1",
    "1",
    "com",
    "co",
    "uk",
    "ck",
    "www",
    "city",
    "kawasaki",
    "jp",
    "github",
    "io",
    "xn--55qx5d",
    "cn",
    "",
]


@given(st.lists(st.sampled_from(LABELS), min_size=1, max_size=9), st.sampled_from(["", ":81"]))
def test_any_site_is_that_of_the_library(labels: list[str], port: str) -> None:
    name = ".".join(labels) or "x"
    try:
        ip_address(name)
    except ValueError:
        assert site(name + port) == (WHOLE.privatesuffix(name) or name)
    else:
        assert site(name + port) == name


def test_a_page_in_the_top_folder_of_a_disk_has_links() -> None:
    assert RULES.join(Url("file:///page.html"), "http://a.b/") == "http://a.b/"
    assert RULES.join(Url("file:///page.html"), "//a.b") is None
