"""One iterative walk over a parsed document: leaves, spans of links and headings, regions, what the head declares.

The walk goes by first_child and next with a stack of its own, because recursion dies on 3,000 nested tags and
selectolax's `traverse` does not say where an element ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from forager.page.regions import region_of
from forager.types import Region

_TEXT, _COMMENT = 2, 4  # lexbor's ids of what is not an element
_PATH_HEAD, _PATH_TAIL, _PART = 4, 28, 64  # elements of a path, characters of an element
_PATH_BUDGET = 20_000_000  # characters of all paths of a page; after that a path is its last element

# What an element means to the walk. Only those between _BLOCK and _PICTURE are more than a place in the tree.
_PLAIN, _BLOCK, _LINK, _FRAME, _HEADING, _DECLARES, _PICTURE, _HIDDEN = range(8)
_MEANING = {
    "a": _LINK,
    "area": _LINK,
    "iframe": _FRAME,
    "frame": _FRAME,
    **dict.fromkeys(["h1", "h2", "h3", "h4", "h5", "h6"], _HEADING),
    **dict.fromkeys(["script", "style", "template", "noframes", "noembed"], _HIDDEN),
    **dict.fromkeys(["img", "input"], _PICTURE),
    **dict.fromkeys(["html", "title", "meta", "base", "link"], _DECLARES),
    **dict.fromkeys(
        ["nav", "main", "article", "aside", "header", "footer", "section", "div", "ul", "ol", "dl"], _BLOCK
    ),
    **dict.fromkeys(["table", "tbody", "tr", "td", "form", "center", "p", "menu", "details"], _BLOCK),
}

Attributes = dict[str, str | None]
Span = list[int]  # first and last leaf


class FoundLink(NamedTuple):
    href: str
    span: Span
    path: str
    rel: str


Place = tuple[str, int]  # of a leaf: the element it is or sits in, and the region
# An element the walk is in: its node, its name, the next leaf when it was entered, what to close when it is left,
# and the place outside. A plain tuple, because hundreds are made a page.
Frame = tuple[LexborNode, str, int, Span | None, Place]


@dataclass(slots=True)
class Tree:
    """What a walk found."""

    leaves: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)  # one for each leaf
    links: list[FoundLink] = field(default_factory=list)
    headings: list[tuple[int, Span]] = field(default_factory=list)
    title: str | None = None
    keywords: str = ""
    description: str = ""
    canonical: str = ""
    base: str = ""
    language: str = ""
    fallback_language: str = ""  # of <meta http-equiv=content-language>


class Walk:
    """A single walk; `comments` makes comments leaves."""

    def __init__(self, comments: bool = False) -> None:
        self.tree = Tree()
        self._comments = comments
        self._stack: list[Frame] = []
        self._meanings: dict[int, tuple[str, int]] = {}  # by tag id; ids of unknown elements differ by document
        self._paths: dict[int, str] = {}  # of elements with links inside, by address
        self._parts: dict[int, str] = {}
        self._left = _PATH_BUDGET

    def over(self, root: LexborNode) -> Tree:
        leaves, places, stack, meanings = self.tree.leaves, self.tree.places, self._stack, self._meanings
        node: LexborNode | None = root
        place: Place = ("", int(Region.BODY))  # that of the element we are in
        while node is not None:
            tag = node.tag_id
            if tag == _TEXT:
                string = (node.text_content or "").strip()
                if string:
                    leaves.append(string)
                    places.append(place)
            elif tag != _COMMENT:
                name, meaning = meanings.get(tag) or self._meaning(node)
                span = self._open(node, name, meaning) if _BLOCK < meaning < _PICTURE else None
                inner = (name, region_of(name, node, place[1]) if meaning == _BLOCK else place[1])
                child = node.first_child if meaning < _HIDDEN else None
                if child is not None and meaning != _FRAME:
                    stack.append((node, name, len(leaves), span, place))
                    node, place = child, inner
                    continue
                leaves.append(_alternative(node) if meaning == _PICTURE or name == "area" else "")
                places.append(inner)
            elif self._comments:
                leaves.append(node.comment_content or "")
                places.append(("-comment", place[1]))
            node = node.next if stack else None
            if node is None:
                node, place = self._leave(place)
        return self.tree

    def _leave(self, place: Place) -> tuple[LexborNode | None, Place]:
        """The node after the element we are in, closing all that end with it."""
        leaves, stack = self.tree.leaves, self._stack
        following = None
        while following is None and stack:
            node, _, first, span, outer = stack.pop()
            if len(leaves) == first:  # nothing visible inside
                leaves.append("")
                self.tree.places.append(place)
            if span is not None:
                span[1] = len(leaves) - 1
            place = outer
            following = node.next if stack else None
        return following, place

    def _meaning(self, node: LexborNode) -> tuple[str, int]:
        name = node.tag or "-unknown"
        self._meanings[node.tag_id] = name, _MEANING.get(name, _PLAIN)
        return self._meanings[node.tag_id]

    def _open(self, node: LexborNode, name: str, meaning: int) -> Span | None:
        at = len(self.tree.leaves)
        span = [at, at]
        if meaning == _HEADING:
            self.tree.headings.append((int(name[1]), span))
            return span
        if meaning == _DECLARES:
            self._declare(name, node)
        if meaning != _LINK and meaning != _FRAME:
            return None
        said = node.attributes
        href = said.get("href" if meaning == _LINK else "src")
        if href is None:
            return None
        self.tree.links.append(FoundLink(href, span, self._path(said, name), said.get("rel") or ""))
        return span

    def _declare(self, name: str, node: LexborNode) -> None:
        tree, said = self.tree, node.attributes
        if name == "title":
            if tree.title is None and self._stack[-1][1] != "svg":
                tree.title = node.text()
        elif name == "html":
            tree.language = said.get("lang") or said.get("xml:lang") or ""
        elif name == "base":
            tree.base = tree.base or said.get("href") or ""
        elif name == "link":
            if "canonical" in (said.get("rel") or "").lower().split():
                tree.canonical = tree.canonical or said.get("href") or ""
        else:
            self._declare_by_meta((said.get("name") or said.get("http-equiv") or "").lower(), said.get("content") or "")

    def _declare_by_meta(self, name: str, content: str) -> None:
        tree = self.tree
        if name == "keywords":
            tree.keywords = tree.keywords or content
        elif name == "description":
            tree.description = tree.description or content
        elif name == "content-language":
            tree.fallback_language = tree.fallback_language or content

    def _path(self, said: Attributes, name: str) -> str:
        last = _part(said, name)
        if self._left < 0:
            return last
        path = f"{self._prefix()} {last}"
        self._left -= len(path)
        return path

    def _prefix(self) -> str:
        """The path of the element we are in; those of its ancestors are remembered."""
        stack, paths = self._stack, self._paths
        if len(stack) > _PATH_HEAD + _PATH_TAIL:
            return " ".join(map(self._remembered_part, (*stack[:_PATH_HEAD], *stack[-_PATH_TAIL:])))
        unknown = len(stack)
        path = None
        while path is None and unknown:
            unknown -= 1
            path = paths.get(stack[unknown][0].mem_id)
        for frame in stack[unknown if path is None else unknown + 1 :]:
            part = _part(frame[0].attributes, frame[1])
            path = paths[frame[0].mem_id] = f"{path} {part}" if path else part
            self._left -= len(path)
        return path or ""

    def _remembered_part(self, frame: Frame) -> str:
        node, name, *_ = frame
        address = node.mem_id
        if address not in self._parts:
            self._parts[address] = _part(node.attributes, name)
        return self._parts[address]


def _part(said: Attributes, name: str) -> str:
    """One element of a path, such as div#main or ul.menu.wide."""
    if "id" in said and (ident := said["id"]):
        name = f"{name}#{'_'.join(ident.split())}"
    if "class" in said and (classes := said["class"]):
        name = ".".join([name, *classes.split()])
    return name[:_PART]


def _alternative(node: LexborNode) -> str:
    return (node.attributes.get("alt") or "").strip()
