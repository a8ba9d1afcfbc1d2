"""What pages say of themselves: not to be kept, not to be followed, to be somewhere else."""

from __future__ import annotations

from forager_lab.webs.hostile.kinds import Call, Reply, Wanted, a_page, hostile, page

NOT_KEPT = Wanted(outcome="no page", reason="noindex", requests=2)


def _meta(content: str, name: str = "robots") -> str:
    return f'<meta name="{name}" content="{content}">'


@hostile("noindex", "a page that asks not to be kept", NOT_KEPT)
def noindex(call: Call) -> Reply:
    return page(call, head=_meta("noindex"))


@hostile("noindex-header", "the same in a header", NOT_KEPT)
def noindex_header(call: Call) -> Reply:
    return page(call, headers=["X-Robots-Tag: noindex"])


@hostile("noindex-us", "a page that asks Forager alone not to keep it", NOT_KEPT)
def noindex_us(call: Call) -> Reply:
    return page(call, head=_meta("NOINDEX", "Forager"))


@hostile("noindex-others", "a page that asks others not to keep it", a_page())
def noindex_others(call: Call) -> Reply:
    return page(call, head=_meta("noindex", "otherbot"), headers=["X-Robots-Tag: otherbot: noindex"])


@hostile(
    "noindex-links",
    "a page that asks not to be kept, with links that may be followed",
    Wanted(outcome="no page", reason="noindex", pages=(2, 2), requests=4),
)
def noindex_links(call: Call) -> Reply:
    return page(call, "/1", "/2", head=_meta("noindex, follow") if call.path == "/" else "")


@hostile("none", "a page that is not to be kept, with links that are not to be followed", NOT_KEPT)
def none(call: Call) -> Reply:
    return page(call, "/1", "/2", head=_meta("none"))


@hostile("nofollow", "a page whose links are not to be followed", a_page())
def nofollow(call: Call) -> Reply:
    return page(call, "/1", "/2", head=_meta("nofollow"))


@hostile("nofollow-header", "the same in a header", a_page())
def nofollow_header(call: Call) -> Reply:
    return page(call, "/1", "/2", headers=["X-Robots-Tag: nofollow"])


@hostile("robots-tags", "10,000 contradictory words in a meta element", a_page())
def robots_tags(call: Call) -> Reply:
    return page(call, head=_meta("all, index, follow, " * 10_000))


# ---- somewhere else -------------------------------------------------------------------------------------------------


def _refresh(target: str, seconds: int = 0) -> str:
    return f'<meta http-equiv="refresh" content="{seconds}; url={target}">'


@hostile("refresh", "a page that sends everybody to another", a_page(3, pages=(1, 2), of="http://refresh.test/next"))
def refresh(call: Call) -> Reply:
    return page(call, head=_refresh("/next")) if call.path == "/" else page(call)


@hostile(
    "refresh-loop",
    "two pages that send everybody to each other",
    Wanted(outcome="page", of="http://refresh-loop.test/other", pages=(1, 2), requests=3),
)
def refresh_loop(call: Call) -> Reply:
    return page(call, head=_refresh("/other" if call.path == "/" else "/"))


@hostile("refresh-self", "a page that sends everybody to itself, without end", a_page())
def refresh_self(call: Call) -> Reply:
    return page(call, head=_refresh("/"))


@hostile("refresh-endless", "each page sends everybody to the next", a_page(130, pages=(1, 60), urls=200))
def refresh_endless(call: Call) -> Reply:
    return page(call, head=_refresh(f"/{int(call.path[1:] or 0) + 1}"))


def _canonical(target: str) -> str:
    return f'<link rel="canonical" href="{target}">'


@hostile("canonical-loop", "two pages that call each other the real one", a_page(3, pages=(1, 2)), seeds=["/a", "/b"])
def canonical_loop(call: Call) -> Reply:
    return page(call, head=_canonical("/b" if call.path == "/a" else "/a"))


@hostile("canonical-nowhere", "a page that calls another the real one, which does not exist", a_page(3))
def canonical_nowhere(call: Call) -> Reply:
    if call.path != "/":
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    return page(call, head=_canonical("/nowhere"))


@hostile("canonical-stranger", "a page that calls a page of another site the real one", a_page(4, pages=(1, 2)))
def canonical_stranger(call: Call) -> Reply:
    return page(call, head=_canonical("http://other.canonical-stranger.test/"))


@hostile("canonical-endless", "each page calls the next the real one", a_page(130, pages=(1, 60), urls=200))
def canonical_endless(call: Call) -> Reply:
    return page(call, head=_canonical(f"/{int(call.path[1:] or 0) + 1}"))


@hostile(
    "languages-endless", "each page has ten translations, which have ten more", a_page(400, pages=(1, 350), urls=5_000)
)
def languages_endless(call: Call) -> Reply:
    links = [f'<link rel="alternate" hreflang="l{n}" href="{call.path.rstrip("/")}/{n}">' for n in range(10)]
    return page(call, head="".join(links))
