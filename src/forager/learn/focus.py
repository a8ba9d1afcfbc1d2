"""Classes have dotted paths for names. Which of them do we look for?"""

from collections.abc import Iterable


def below(name: str, ancestor: str) -> bool:
    """Whether a dotted path is the ancestor or lies under it, by whole parts."""
    return name == ancestor or name.startswith(ancestor + ".")


def in_focus(name: str, focus: Iterable[str]) -> bool:
    """Whether a class is one of the focus names or lies under one."""
    return any(below(name, ancestor) for ancestor in focus)
