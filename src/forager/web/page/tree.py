"""One iterative walk over a parsed document: leaves, spans of links and headings, regions, what the head declares.

The walk keeps a stack of its own, because recursion dies on 3,000 nested tags and selectolax's `traverse` does not say
where an element ends: to ask each node for its parent instead takes 1.3x as long. `iter` leaves out blank text, which
is every fourth node of a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from forager.types import Region
from forager.web.page.regions import Attributes, region_of

_COMMENT = 4  # lexbor's id
_PATH_HEAD, _PATH_TAIL, _PART = 4, 28, 64  # elements of a path, characters of an element
_WHOLE = _PATH_HEAD + _PATH_TAIL  # elements of a path that keeps them all
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

# An element the walk is in: its node, its name, the next leaf when it was entered, what to close when it is left, and
# of the element outside: name, region and the nodes that follow. A plain tuple, because hundreds are made a page.
Frame = tuple[LexborNode, str, int, Span | None, str, int, Iterator[LexborNode]]


@dataclass(slots=True)
class Tree:
    """What a walk found."""

    leaves: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)  # of each leaf: the element it is or sits in
    regions: list[int] = field(default_factory=list)  # of each leaf
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
        tree, stack, paths, meanings = self.tree, self._stack, self._paths, self._meanings
        leaves, tags, regions = tree.leaves, tree.tags, tree.regions
        inside, region = "", int(Region.BODY)  # the element we are in
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
                        inner = region_of(name, said, region)
                child = node.first_child if meaning < _FRAME else None
                if child is None:
                    string = _alternative(node) if meaning == _PICTURE or name == "area" else ""
                elif (string := child.text_content) is not None and child.next is None:
                    string = string.strip()  # here rather than one level down: most elements hold nothing else
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
                    return tree
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
        span, path, rel = [at, at], name, ""
        if len(said) > 1:
            path, rel = _part(said, name), said.get("rel") or ""
        if self._left >= 0:
            path = f"{self._prefix()} {path}"
            self._left -= len(path)
        self.tree.links.append((href, span, path, rel))
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


def _alternative(node: LexborNode) -> str:
    return (node.attributes.get("alt") or "").strip()


def _known_meanings() -> dict[int, tuple[str, int]]:
    """Those of the elements that any page has, by lexbor's id."""
    document = LexborHTMLParser("")
    return {document.create_node(name).tag_id: (name, meaning) for name, meaning in _MEANING.items()}


_KNOWN = _known_meanings()
