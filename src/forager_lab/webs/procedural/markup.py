"""From the layout of a page to its HTML, in three styles: with landmarks, with divs, and with old tables."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forager_lab.webs.procedural.chance import Dice, below, stream
from forager_lab.webs.procedural.hosts import Host
from forager_lab.webs.procedural.layout import PageLayout
from forager_lab.webs.procedural.linking import Anchor
from forager_lab.webs.procedural.prose import MEAN_SENTENCE, Prose
from forager_lab.webs.procedural.vocabulary import LEADS


class HtmlFrame(NamedTuple):
    """The HTML between the parts of a page."""

    before_top: str
    between_top: str
    before_body: str
    before_list: str
    item: str
    end_item: str
    after_list: str
    before_adverts: str
    between_adverts: str
    before_bottom: str
    end: str


FRAMES = (
    HtmlFrame(
        *("<header><nav><ul><li>", "</li><li>", "</li></ul></nav></header>\n<main>\n", "<ul>\n"),
        *("<li>", "</li>\n", "</ul>\n", "</main>\n<aside>\n<p>", "</p>\n<p>"),
        *("</p></aside>\n<footer>", "</footer>"),
    ),
    HtmlFrame(
        *('<div id="top" class="bar">', " | ", '</div>\n<div id="content">\n', '<div class="box">\n'),
        *('<div class="entry">', "</div>\n", "</div>\n", '</div>\n<div class="box">\n<div class="entry">'),
        *('</div>\n<div class="entry">', '</div></div>\n<div id="bottom" class="bar">', "</div>"),
    ),
    HtmlFrame(
        *("<table><tr><td>", "<br>", "</td><td>\n", "<dl>\n"),
        *("<dt>", "</dd>\n", "</dl>\n", "<p><b>", "</b></p>\n<p><b>"),
        *("</b></p></td></tr><tr><td>", "</td></tr></table>"),
    ),
)
_LIST_HEADINGS = ("See also", "Further reading", "Related", "More", "Links", "Elsewhere")


def page_bytes(layout: PageLayout, host: Host, prose: Prose, canonical: str = "") -> bytes:
    """The whole page in UTF-8."""
    frame = FRAMES[host.markup]
    top = frame.between_top.join(_a(link, host) for link in layout.top)
    adverts = frame.between_adverts.join(_a(link, host, sponsored=True) for link in layout.adverts)
    bottom = " ".join(_a(link, host) for link in layout.bottom)
    head = _head(layout, host, prose, canonical)
    body = _body(layout, host, prose, frame)
    parts = (head, frame.before_top, top, frame.before_body, body)
    rest = (frame.before_adverts, adverts, frame.before_bottom, bottom, frame.end, "\n</body></html>\n")
    return "".join(parts + rest).encode()


def _a(link: Anchor, host: Host, sponsored: bool = False) -> str:
    """A link element. On most hosts, links within the host are relative."""
    href = link.path if link.host == host.name and host.trait(1, 0.8) else f"http://{link.host}{link.path}"
    rel = ' rel="nofollow"' if sponsored and host.trait(2, 0.4) else ""
    if "&" in href:
        href = escape(href)
    return f'<a href="{href}"{rel}>{link.text}</a>'


def _head(layout: PageLayout, host: Host, prose: Prose, canonical: str) -> str:
    title = layout.title if host.trait(3, 0.5) else f"{layout.title} - {host.name.partition('.')[0]}"
    lines = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>{title}</title>"]
    if host.trait(4, 0.4) and layout.leaf < prose.general:
        words = [prose.word(layout.leaf, layout.key >> shift & 4095) for shift in (0, 12, 24)]
        lines.append(f'<meta name="keywords" content="{", ".join(words)}">')
    if canonical:
        lines.append(f'<link rel="canonical" href="{canonical}">')
    lines.append("<style>body { max-width: 50em; margin: 2em auto; font-family: serif }</style></head>")
    lines.append(f"<body>\n<!-- {host.name} -->\n" if host.markup == 2 else "<body>\n")
    return "\n".join(lines)


def _body(layout: PageLayout, host: Host, prose: Prose, frame: HtmlFrame) -> str:
    """A heading, text with links in it, and a list of the other links with a sentence about each."""
    hrefs = [_a(link, host) for link in layout.body]
    inline, listed = hrefs[: layout.inline], hrefs[layout.inline :]
    notes = len(listed)
    room = layout.room - 20 * len(inline) - notes * (MEAN_SENTENCE + 10)
    count = max(len(inline) + 2, room // MEAN_SENTENCE)
    manners = np.empty(count + notes, np.int64)
    manners[:count] = _own_manners(layout, prose, count)
    manners[count:] = [link.about for link in layout.body[layout.inline :]]
    places = _places(layout, len(inline), count, manners)
    sentences = prose.sentences(manners, layout.key)
    ends = _ends(layout, prose, inline, places, count)
    rows = np.empty((count, 5), object)
    rows[:, :4], rows[:, 4] = sentences[:count], ends
    text = "".join(rows.ravel().tolist())
    remarks = ["".join(row) for row in sentences[count:].tolist()]
    return f"<h1>{layout.title}</h1>\n<p>{text}</p>\n" + _list(layout, frame, listed, remarks)


def _own_manners(layout: PageLayout, prose: Prose, count: int) -> NDArray[np.int64]:
    """What each sentence is about: the page's leaf, its second subject, or nothing in particular."""
    u = below(stream(layout.key ^ 0x5EED, count), 1 << 20) / (1 << 20)
    apart = np.where(u < layout.strength + layout.second_strength, layout.second, prose.general)
    chosen: NDArray[np.int64] = np.where(u < layout.strength, layout.leaf, apart).astype(np.int64)
    return chosen


def _places(layout: PageLayout, links: int, count: int, manners: NDArray[np.int64]) -> list[int]:
    """After which sentence each inline link stands. The sentences before and after it are about what it is about."""
    if not links:
        return []
    shift = below(stream(layout.key ^ 0x9A9E, links), 1 << 20) / (1 << 20)
    places = ((np.arange(links) + shift) * (count - 1) / links).astype(np.int64)
    about = np.fromiter((link.about for link in layout.body[:links]), np.int64, links)
    manners[places + 1] = about
    manners[places] = about
    return [int(place) for place in places]


def _ends(layout: PageLayout, prose: Prose, links: list[str], places: list[int], count: int) -> list[str]:
    """What follows each sentence: a link with a few words, a new paragraph, a heading, or only a space."""
    dice = Dice(layout.key ^ 0xE4D5)
    ends = [" "] * count
    at = 2 + dice.below(4)
    while at < count - 1:
        if dice.chance(0.15):
            heading = prose.title(layout.leaf, layout.key ^ at * 0x9E3779B97F4A7C15, 0.3)
            ends[at] = f"</p>\n<h2>{heading}</h2>\n<p>"
        else:
            ends[at] = "</p>\n<p>"
        at += 3 + dice.below(4)
    for link, place in zip(reversed(links), reversed(places), strict=True):  # two at one place must keep their order
        ends[place] = f" {dice.pick(LEADS)} {link}.{ends[place]}"
    return ends


def _list(layout: PageLayout, frame: HtmlFrame, links: list[str], remarks: list[str]) -> str:
    if not links:
        return ""
    heading = _LIST_HEADINGS[layout.key % len(_LIST_HEADINGS)]
    between = "</dt><dd>" if frame.item == "<dt>" else " "
    items = [f"{frame.item}{a}{between}{note}{frame.end_item}" for a, note in zip(links, remarks, strict=True)]
    return f"<h3>{heading}</h3>\n{frame.before_list}{''.join(items)}{frame.after_list}"
