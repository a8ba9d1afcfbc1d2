"""One iterative walk over a parsed document. It finds the leaves, the spans of links and headings, the regions, and
what the head of the page declares.

The walk keeps its own stack. Recursion fails on 3,000 nested tags, and selectolax's `traverse` does not say where an
element ends; to ask each node for its parent takes 1.3x as long. `iter` skips blank text, which is every fourth node of
a page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from selectolax.lexbor import LexborHTMLParser, LexborNode

from forager.types import Region
from forager.web.page.bounds import PageLimits

_COMMENT = 4  # lexbor's id
_PATH_HEAD, _PATH_TAIL, _PART = 4, 28, 64  # elements of a path, characters of an element
_WHOLE = _PATH_HEAD + _PATH_TAIL  # a path of at most so many elements keeps them all
_PATH_BUDGET = 20_000_000  # characters of all paths of a page; after that a path is only its last element

# What an element means to the walk. Elements from _FRAME on are leaves, whatever they contain.
_PLAIN, _BLOCK, _LANDMARK, _LINK, _HEADING, _DECLARES, _FRAME, _PICTURE, _HIDDEN = range(9)
_MEANING = {  # landmarks open a region by their name, blocks by their attributes
    **dict.fromkeys(["a", "area"], _LINK),
    **dict.fromkeys(["iframe", "frame"], _FRAME),
    **dict.fromkeys(["h1", "h2", "h3", "h4", "h5", "h6"], _HEADING),
    **dict.fromkeys(["script", "style", "template", "noframes", "noembed"], _HIDDEN),
    **dict.fromkeys(["img", "input"], _PICTURE),
    **dict.fromkeys(["html", "title", "meta", "base", "link"], _DECLARES),
    **dict.fromkeys(["nav", "main", "article", "menu", "header", "aside", "footer"], _LANDMARK),
    **dict.fromkeys(["div", "p", "ul", "ol", "dl", "table", "tbody", "tr", "td", "form"], _BLOCK),
    **dict.fromkeys(["section", "center", "details"], _BLOCK),
    **dict.fromkeys(["head", "body", "span", "li", "dt", "dd", "th", "br", "b", "i", "em", "strong"], _PLAIN),
}

_BODY, _NAVIGATION, _MAIN, _FOOTER = (int(region) for region in Region)  # plain ints: thousands are compared
_ELEMENTS = {"nav": _NAVIGATION, "main": _MAIN, "article": _MAIN, "menu": _NAVIGATION}
_OUTSIDE_MAIN = {"header": _NAVIGATION, "aside": _NAVIGATION, "footer": _FOOTER}  # an article has its own of these
_ROLES = {
    **dict.fromkeys(["navigation", "menu", "menubar", "banner", "complementary"], _NAVIGATION),
    **dict.fromkeys(["main", "article"], _MAIN),
    "contentinfo": _FOOTER,
}
# The order matters: "main-menu" is a menu, "footer-content" is a footer.
_REGION_WORDS = (
    ("menu menus nav navi navbar navigation sidebar breadcrumb breadcrumbs toc pager pagination", _NAVIGATION),
    ("footer foot copyright legal colophon", _FOOTER),
    ("content main article post entry story maincontent bodycontent", _MAIN),
)
_REGIONS = tuple((frozenset(words.split()), region) for words, region in _REGION_WORDS)
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST_NAME = 200  # characters of an id, class list or rel that are read
_FEEDS = ("application/rss+xml", "application/atom+xml")
_SAID = {"canonical": 10, "feeds": 10, "alternates": 50, "neighbours": 10, "directives": 10, "refresh": 5}  # at most

_LIMITS = PageLimits()

Attributes = dict[str, str | None]
Span = list[int]  # first and last leaf
FoundLink = tuple[str, Span, str, str]  # href, the leaves it covers, tag path, rel

# An element that the walk is inside of: its node, its name, the number of the next leaf when it was entered, the span
# to close when it is left; and of the element outside of it: name, region and the nodes that follow. A plain tuple,
# because each page makes hundreds.
Frame = tuple[LexborNode, str, int, Span | None, str, int, Iterator[LexborNode]]


@dataclass(slots=True)
class DocumentParts:
    """What a walk found."""

    leaves: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)  # of each leaf: the element that it is, or lies in
    regions: list[int] = field(default_factory=list)  # of each leaf
    links: list[FoundLink] = field(default_factory=list)
    headings: list[tuple[int, Span]] = field(default_factory=list)
    title: str | None = None
    keywords: str = ""
    description: str = ""
    base: str | None = None
    language: str = ""
    fallback_language: str = ""  # from <meta http-equiv=content-language>
    said: dict[str, list[str]] = field(default_factory=dict)  # by the kinds of _SAID, as written
    left_out: Counter[str] = field(default_factory=Counter)


class TreeWalk:
    """One walk over one document. With `comments`, comments are leaves too."""

    def __init__(self, comments: bool = False, limits: PageLimits = _LIMITS) -> None:
        self.found = DocumentParts()
        self._comments, self._most_links, self._most_headings = comments, limits.links, limits.headings
        self._stack: list[Frame] = []
        self._paths: list[str] = []  # of each frame, "" until a link needs it; deep frames have only their own part
        self._meanings = _KNOWN.copy()  # by tag id; unknown elements have other ids in each document
        self._left = _PATH_BUDGET

    def over(self, root: LexborNode) -> DocumentParts:
        found, stack, paths, meanings = self.found, self._stack, self._paths, self._meanings
        leaves, tags, regions = found.leaves, found.tags, found.regions
        inside, region = "", int(Region.BODY)  # of the element that we are in
        nodes: Iterator[LexborNode] = iter((root,))
        while True:
            for node in nodes:
                string = node.text_content  # None where the node is no text
                if string is not None:
                    if string := string.strip():
                        leaves.append(string)
                        tags.append(inside)
                        regions.append(region)
                    continue
                tag = node.tag_id
                if tag == _COMMENT:
                    if self._comments:
                        leaves.append(node.comment_content or "")
                        tags.append("-comment")
                        regions.append(region)
                    continue
                try:
                    name, meaning = meanings[tag]
                except KeyError:
                    name, meaning = self._meaning(node)
                span, inner = None, region
                if meaning:
                    if meaning == _LINK:
                        span = self._link(node, name, "href")
                    elif meaning > _LINK:
                        span = self._open(node, name, meaning)
                    elif (said := node.attributes) or meaning == _LANDMARK:
                        inner = _region_of(name, said, region)
                child = node.first_child if meaning < _FRAME else None
                if child is None:
                    string = _alternative(node) if meaning == _PICTURE or name == "area" else ""
                elif (string := child.text_content) is not None and child.next is None:
                    string = string.strip()  # here, not one level down: most elements contain nothing else
                else:
                    stack.append((node, name, len(leaves), span, inside, region, nodes))
                    paths.append("")
                    nodes, inside, region = node.iter(True, True), name, inner
                    break
                leaves.append(string)
                tags.append(name)
                regions.append(inner)
            else:
                if not stack:
                    return found
                _, _, first, span, outside, outer, nodes = stack.pop()
                del paths[-1]
                if len(leaves) == first:  # nothing visible inside
                    leaves.append("")
                    tags.append(inside)
                    regions.append(region)
                if span is not None:
                    span[1] = len(leaves) - 1
                inside, region = outside, outer

    def _meaning(self, node: LexborNode) -> tuple[str, int]:
        name = node.tag or "-unknown"
        self._meanings[node.tag_id] = name, _MEANING.get(name, _PLAIN)
        return self._meanings[node.tag_id]

    def _open(self, node: LexborNode, name: str, meaning: int) -> Span | None:
        """Note what the element says. Gives its span if the walk must close it."""
        if meaning == _FRAME:
            return self._link(node, name, "src")
        if meaning == _HEADING:
            if len(self.found.headings) >= self._most_headings:
                self.found.left_out["headings"] += 1
                return None
            at = len(self.found.leaves)
            span = [at, at]
            self.found.headings.append((int(name[1]), span))
            return span
        if meaning == _DECLARES:
            self._declare(name, node)
        return None

    def _link(self, node: LexborNode, name: str, attribute: str) -> Span | None:
        said, found = node.attributes, self.found
        href = said.get(attribute)
        if href is None:
            href = said.get("xlink:href")
            if href is None or all(frame[1] != "svg" for frame in self._stack):
                return None
        if href[:1] == "#" and not found.base:  # a section; of some pages there are thousands
            return None
        if len(found.links) >= self._most_links:
            found.left_out["links"] += 1
            return None
        at = len(found.leaves)
        span, path, rel = [at, at], name, ""
        if len(said) > 1:
            path, rel = _part(said, name), (said.get("rel") or "")[:_LONGEST_NAME]
        if self._left >= 0:
            path = f"{self._prefix()} {path}"
            self._left -= len(path)
        found.links.append((href, span, path, rel))
        return span

    def _declare(self, name: str, node: LexborNode) -> None:
        found, said = self.found, node.attributes
        if name == "title":
            if found.title is None and self._stack[-1][1] != "svg":
                found.title = node.text()
        elif name == "html":
            found.language = said.get("lang") or said.get("xml:lang") or ""
        elif name == "base":
            found.base = said.get("href") if found.base is None else found.base
        elif name == "link":
            self._declare_link(said)
        else:
            self._declare_by_meta((said.get("name") or said.get("http-equiv") or "").lower(), said.get("content") or "")

    def _declare_link(self, said: Attributes) -> None:
        rels = (said.get("rel") or "")[:_LONGEST_NAME].lower().split()
        if "alternate" in rels:
            if (said.get("type") or "").strip().lower() in _FEEDS:
                self._say("feeds", said.get("href"))
            elif "hreflang" in said:
                self._say("alternates", said.get("href"))
        elif "canonical" in rels:
            if len(self._stack) > 1 and self._stack[1][1] == "head":  # in the body it could be a visitor's
                self._say("canonical", said.get("href"))
        elif not {"next", "prev", "previous"}.isdisjoint(rels):
            self._say("neighbours", said.get("href"))

    def _declare_by_meta(self, name: str, content: str) -> None:
        found = self.found
        if name == "keywords":
            found.keywords = found.keywords or content
        elif name == "description":
            found.description = found.description or content
        elif name == "content-language":
            found.fallback_language = found.fallback_language or content
        elif name in ("robots", "forager"):
            self._say("directives", content)
        elif name == "refresh" and self._stack[-1][1] != "noscript":  # that would lead to a page for want of scripts
            self._say("refresh", content)

    def _say(self, kind: str, text: str | None) -> None:
        if text:
            said = self.found.said.setdefault(kind, [])
            if len(said) < _SAID[kind]:
                said.append(text)

    def _prefix(self) -> str:
        """The path of the element that we are in. Paths of the elements around it are kept while we are in them."""
        paths, stack = self._paths, self._stack
        known = depth = len(paths)
        while known and not paths[known - 1]:
            known -= 1
        while known < depth:
            frame = stack[known]
            said, path = frame[0].attributes, frame[1]
            path = _part(said, path) if said else path[:_PART]
            if 0 < known < _WHOLE:
                path = f"{paths[known - 1]} {path}"
                self._left -= len(path)
            paths[known] = path
            known += 1
        if depth <= _WHOLE:
            return paths[-1]
        return " ".join([paths[_PATH_HEAD - 1], *map(self._remembered_part, range(depth - _PATH_TAIL, depth))])

    def _remembered_part(self, at: int) -> str:
        return self._paths[at] if at >= _WHOLE else self._paths[at][len(self._paths[at - 1]) + 1 :]


def _part(said: Attributes, name: str) -> str:
    """One element of a path, such as div#main or ul.menu.wide."""
    if "id" in said and (ident := said["id"]):
        name = f"{name}#{'_'.join(ident.split())}"
    if "class" in said and (classes := said["class"]):
        name = ".".join([name, *classes.split()])
    return name[:_PART]


def _region_of(name: str, said: Attributes, outer: int) -> int:
    """The region inside an element, given the region outside of it: by landmark elements and roles, else by the words
    in its id and classes."""
    if name in _ELEMENTS:
        return _ELEMENTS[name]
    if said:
        role = said.get("role")
        if role and role in _ROLES:
            return _ROLES[role]
        named = f"{said.get('id') or ''} {said.get('class') or ''}"
        if len(named) > 1:
            found = _named(named[:_LONGEST_NAME])
            if found != _BODY:
                return found
    return outer if outer == _MAIN else _OUTSIDE_MAIN.get(name, outer)


@lru_cache(maxsize=4096)
def _named(names: str) -> int:
    parts = {part.lower() for part in _NAME_PARTS.findall(names)}
    for words, region in _REGIONS:
        if not words.isdisjoint(parts):
            return region
    return _BODY


def _alternative(node: LexborNode) -> str:
    return (node.attributes.get("alt") or "").strip()


def _known_meanings() -> dict[int, tuple[str, int]]:
    """The meanings of the known elements, by lexbor's id."""
    document = LexborHTMLParser("")
    return {document.create_node(name).tag_id: (name, meaning) for name, meaning in _MEANING.items()}


_KNOWN = _known_meanings()
