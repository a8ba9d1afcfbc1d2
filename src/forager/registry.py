"""Makers by name: those that are built in, and those that other packages offer as entry points.

A maker is a class or function with a signature. It is given what it asks for by name, like a test is given its
fixtures. The rest of its parameters come from the configuration:

    find("critic", "naive-bayes", builtin=CRITICS, group="forager.critics")
    make(NaiveBayes, given={"focus": ["Science"], "seed": 7}, params={"calibrate": False})
"""

from __future__ import annotations

import inspect
import tomllib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from forager.errors import ForagerError, unknown

Maker: TypeAlias = Callable[..., Any]
PLAIN = (bool, int, float, str, bytes, type(None), list, tuple, dict, set, frozenset)  # as in configurations


def names(builtin: Iterable[str], group: str) -> list[str]:
    """The names of all makers, also of those in plug-ins. Nothing is imported."""
    return sorted({*builtin, *(point.name for point in entry_points(group=group))})


def find(kind: str, name: str, *, builtin: Mapping[str, Maker], group: str) -> Maker:
    """The maker of that name. A plug-in cannot replace a built-in one, and is imported only if it is asked for."""
    if name in builtin:
        return builtin[name]
    for point in entry_points(group=group):
        if point.name == name:
            return _load(kind, point)
    raise unknown(kind, name, names(builtin, group))


def _load(kind: str, point: EntryPoint) -> Maker:
    package = point.dist.name if point.dist else "an unnamed package"
    told = f"{kind} {point.name!r} of package {package!r} ({point.value})"
    try:
        maker = point.load()
    except Exception as error:  # an import may raise anything
        raise ForagerError(
            f"{told} cannot be imported: {type(error).__name__}: {error}; repair or uninstall the package"
        ) from error
    if not callable(maker):
        raise ForagerError(f"{told} is no class or function but a {type(maker).__name__}; correct its entry point")
    return maker  # type: ignore[no-any-return]


def make(maker: Maker, given: Mapping[str, object], params: Mapping[str, object]) -> Any:
    """Call the maker with those of the `given` values that it asks for, and with all `params`. These are checked, and
    win over given values of the same name."""
    asked = inspect.signature(maker).parameters
    title = getattr(maker, "__name__", str(maker))
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in asked.values())
    wanted = {name: p for name, p in asked.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for name in params:
        if name not in wanted and not anything:
            raise unknown(f"parameter of {title}", name, wanted)
    hints = _hints(maker)
    checked = {name: _checked(title, name, value, hints.get(name, Any)) for name, value in params.items()}
    arguments = {name: given[name] for name in wanted if name in given} | checked
    missing = [name for name, p in wanted.items() if p.default is p.empty and name not in arguments]
    if missing:
        raise ForagerError(
            f"{title} needs {', '.join(map(repr, missing))}: give {'it' if len(missing) == 1 else 'them'}"
        )
    return maker(**arguments)


def _hints(maker: Maker) -> dict[str, Any]:
    asked = maker.__init__ if isinstance(maker, type) else maker  # type: ignore[misc]
    try:
        return get_type_hints(asked)
    except (NameError, TypeError):  # its hints have names that only a type checker knows
        return {}


def _checked(title: str, name: str, value: object, hint: Any) -> object:
    if not _plain(hint):
        return value
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        raise ForagerError(f"parameter {name!r} of {title} is {value!r}: {error}") from error


def _plain(hint: Any) -> bool:
    """Whether a configuration can contain a value of this type. Only such values are checked."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return all(map(_plain, get_args(hint)))
    if origin is Literal:
        return True
    if origin is None:
        return hint in PLAIN
    return all(_plain(part) for part in get_args(hint) if part is not Ellipsis)


@dataclass(frozen=True)
class Spec:
    """A critic or strategy with options, as on the command line: `best-first`, or `best-first:tau=0.3:hard=true`."""

    name: str
    options: dict[str, object] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        name, *options = text.strip().split(":")
        return cls(name, dict(_option(text, option) for option in options))

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{key}={_bare(value)}" for key, value in self.options.items())])


def _option(text: str, option: str) -> tuple[str, object]:
    key, equals, value = option.partition("=")
    if not equals:
        raise ForagerError(f"{text!r}: write parameters as name:key=value:key=value")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value  # a bare word


def _bare(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
