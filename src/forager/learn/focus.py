"""Topics: names of classes as dotted paths, and which of them we look for."""

from collections.abc import Iterable


def below(name: str, ancestor: str) -> bool:
    """Whether a dotted path is the ancestor or lies under it, by whole parts."""
    return name == ancestor or name.startswith(ancestor + ".")


def in_focus(name: str, focus: Iterable[str]) -> bool:
    return any(below(name, ancestor) for ancestor in focus)
