"""What part of a page an element opens: by landmark elements and roles, else by the words in its id and classes."""

from __future__ import annotations

import re
from functools import lru_cache

from forager.types import Region

_BODY, _NAVIGATION, _MAIN, _FOOTER = (int(region) for region in Region)  # plain ints: the walk compares thousands

_ELEMENTS = {"nav": _NAVIGATION, "main": _MAIN, "article": _MAIN, "menu": _NAVIGATION}
_OUTSIDE_MAIN = {"header": _NAVIGATION, "aside": _NAVIGATION, "footer": _FOOTER}  # an article has its own of these
_ROLES = {
    **dict.fromkeys(["navigation", "menu", "menubar", "banner", "complementary"], _NAVIGATION),
    **dict.fromkeys(["main", "article"], _MAIN),
    "contentinfo": _FOOTER,
}
# In this order: "main-menu" is a menu, "footer-content" a footer.
_WORDS = (
    ("menu menus nav navi navbar navigation sidebar breadcrumb breadcrumbs toc pager pagination", _NAVIGATION),
    ("footer foot copyright legal colophon", _FOOTER),
    ("content main article post entry story maincontent bodycontent", _MAIN),
)
_REGIONS = tuple((frozenset(words.split()), region) for words, region in _WORDS)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
Attributes = dict[str, str | None]

_LONGEST = 200  # characters of an id or class list that are looked at


def region_of(name: str, said: Attributes, outer: int) -> int:
    """The region inside an element, given the one outside."""
    if name in _ELEMENTS:
        return _ELEMENTS[name]
    if said:
        role = said.get("role")
        if role and role in _ROLES:
            return _ROLES[role]
        named = f"{said.get('id') or ''} {said.get('class') or ''}"
        if len(named) > 1:
            found = _named(named[:_LONGEST])
            if found != _BODY:
                return found
    return outer if outer == _MAIN else _OUTSIDE_MAIN.get(name, outer)


@lru_cache(maxsize=4096)
def _named(names: str) -> int:
    parts = {part.lower() for part in _PARTS.findall(names)}
    for words, region in _REGIONS:
        if not words.isdisjoint(parts):
            return region
    return _BODY
