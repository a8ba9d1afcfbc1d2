"""One iterative walk over a parsed document: leaves, spans of links and headings, regions, what the head declares.

The walk goes by first_child and next with a stack of its own, because recursion dies on 3,000 nested tags and
selectolax's `traverse` does not say where an element ends: to ask each node for its parent instead takes 1.3x as long.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from forager.page.regions import Attributes, region_of
from forager.types import Region

_TEXT, _COMMENT = 2, 4  # lexbor's ids of what is not an element
_PATH_HEAD, _PATH_TAIL, _PART = 4, 28, 64  # elements of a path, characters of an element
_PATH_BUDGET = 20_000_000  # characters of all paths of a page; after that a path is its last element

# What an element means to the walk. Those from _FRAME on are leaves, whatever they hold.
_PLAIN, _BLOCK, _LANDMARK, _LINK, _HEADING, _DECLARES, _FRAME, _PICTURE, _HIDDEN = range(9)
_MEANING = {
    **dict.fromkeys(["a", "area"], _LINK),
    **dict.fromkeys(["iframe", "frame"], _FRAME),
    **dict.fromkeys(["h1", "h2", "h3", "h4", "h5", "h6"], _HEADING),
    **dict.fromkeys(["script", "style", "template", "noframes", "noembed"], _HIDDEN),
    **dict.fromkeys(["img", "input"], _PICTURE),
    **dict.fromkeys(["html", "title", "meta", "base", "link"], _DECLARES),
    **dict.fromkeys(["nav", "main", "article", "menu", "header", "aside", "footer"], _LANDMARK),  # a region by name
    **dict.fromkeys(["div", "p", "ul", "ol", "dl", "table", "tbody", "tr", "td", "form"], _BLOCK),  # by attributes
    **dict.fromkeys(["section", "center", "details"], _BLOCK),
    **dict.fromkeys(["head", "body", "span", "li", "dt", "dd", "th", "br", "b", "i", "em", "strong"], _PLAIN),
}

Span = list[int]  # first and last leaf
FoundLink = tuple[str, Span, str, str]  # href, the leaves it covers, tag path, rel
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
        self._paths: list[str] = []  # of each frame, "" until a link asks; deep ones have only their own part
        self._meanings = _KNOWN.copy()  # by tag id; ids of unknown elements differ by document
        self._left = _PATH_BUDGET

    def over(self, root: LexborNode) -> Tree:
        leaves, places, stack, paths = self.tree.leaves, self.tree.places, self._stack, self._paths
        meanings = self._meanings
        node = root
        place: Place = ("", int(Region.BODY))  # that of the element we are in
        while True:
            tag = node.tag_id
            if tag == _TEXT:
                if string := (node.text_content or "").strip():
                    leaves.append(string)
                    places.append(place)
            elif tag != _COMMENT:
                try:
                    name, meaning = meanings[tag]
                except KeyError:
                    name, meaning = self._meaning(node)
                span, inner = None, (name, place[1])
                if meaning:
                    if meaning == _LINK:
                        span = self._link(node, name, "href")
                    elif meaning > _LINK:
                        span = self._open(node, name, meaning)
                    elif (said := node.attributes) or meaning == _LANDMARK:
                        inner = (name, region_of(name, said, place[1]))
                child = node.first_child if meaning < _FRAME else None
                if child is None:
                    leaves.append(_alternative(node) if meaning == _PICTURE or name == "area" else "")
                    places.append(inner)
                else:
                    first = len(leaves)
                    if child.tag_id == _TEXT:  # here rather than one round later: most elements hold nothing else
                        if string := (child.text_content or "").strip():
                            leaves.append(string)
                            places.append(inner)
                        child = child.next
                    if child is not None:
                        stack.append((node, name, first, span, place))
                        paths.append("")
                        node, place = child, inner
                        continue
                    if len(leaves) == first:
                        leaves.append("")
                        places.append(inner)
            elif self._comments:
                leaves.append(node.comment_content or "")
                places.append(("-comment", place[1]))
            following = node.next if stack else None
            while following is None:
                if not stack:
                    return self.tree
                node, name, first, span, outer = stack.pop()
                del paths[-1]
                if len(leaves) == first:  # nothing visible inside
                    leaves.append("")
                    places.append(place)
                if span is not None:
                    span[1] = len(leaves) - 1
                place = outer
                following = node.next if stack else None
            node = following

    def _meaning(self, node: LexborNode) -> tuple[str, int]:
        name = node.tag or "-unknown"
        self._meanings[node.tag_id] = name, _MEANING.get(name, _PLAIN)
        return self._meanings[node.tag_id]

    def _open(self, node: LexborNode, name: str, meaning: int) -> Span | None:
        """Note what the element says; its span, if its end matters too."""
        if meaning == _FRAME:
            return self._link(node, name, "src")
        if meaning == _HEADING:
            at = len(self.tree.leaves)
            span = [at, at]
            self.tree.headings.append((int(name[1]), span))
            return span
        if meaning == _DECLARES:
            self._declare(name, node)
        return None

    def _link(self, node: LexborNode, name: str, attribute: str) -> Span | None:
        said = node.attributes
        href = said.get(attribute)
        if href is None:
            return None
        at = len(self.tree.leaves)
        span, path = [at, at], _part(said, name)
        if self._left >= 0:
            path = f"{self._prefix()} {path}"
            self._left -= len(path)
        self.tree.links.append((href, span, path, said.get("rel") or ""))
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

    def _prefix(self) -> str:
        """The path of the element we are in; those of the elements around it are remembered while we are in them."""
        paths, known = self._paths, len(self._paths)
        while known and not paths[known - 1]:
            known -= 1
        for node, name, _, _, _ in self._stack[known:]:
            path = _part(node.attributes, name)
            if 0 < known < _PATH_HEAD + _PATH_TAIL:
                path = f"{paths[known - 1]} {path}"
                self._left -= len(path)
            paths[known] = path
            known += 1
        if known <= _PATH_HEAD + _PATH_TAIL:
            return paths[-1] if paths else ""
        return " ".join([paths[_PATH_HEAD - 1], *map(self._remembered_part, range(known - _PATH_TAIL, known))])

    def _remembered_part(self, at: int) -> str:
        return self._paths[at] if at >= _PATH_HEAD + _PATH_TAIL else self._paths[at][len(self._paths[at - 1]) + 1 :]


def _part(said: Attributes, name: str) -> str:
    """One element of a path, such as div#main or ul.menu.wide."""
    if "id" in said and (ident := said["id"]):
        name = f"{name}#{'_'.join(ident.split())}"
    if "class" in said and (classes := said["class"]):
        name = ".".join([name, *classes.split()])
    return name[:_PART]


def _alternative(node: LexborNode) -> str:
    return (node.attributes.get("alt") or "").strip()


def _known_meanings() -> dict[int, tuple[str, int]]:
    """Those of the elements that any page has, by lexbor's id."""
    document = LexborHTMLParser("")
    return {document.create_node(name).tag_id: (name, meaning) for name, meaning in _MEANING.items()}


_KNOWN = _known_meanings()
