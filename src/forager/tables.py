"""Tables with typed keys, from a TOML file or made in Python. What does not fit is told in one line, with the cure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from warnings import catch_warnings, simplefilter

import msgspec
from msgspec import inspect

from forager.errors import ForagerError, unknown

LARGEST = 10_000_000  # bytes of a file
DIGITS = 20  # of a number that is shown
SHOWN = 60  # characters of a text that is shown
# The time for a key a.b.c… grows with the square of its parts.
_ENDLESS_KEY = re.compile(r"""(?:\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*){200}""")
T = TypeVar("T", bound="Table")


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a file: every key has a type, numbers have bounds, an unknown key is an error."""

    def __post_init__(self) -> None:
        told = next(_faults_of(self), "") or self.fault()
        if told:
            name = type(self).__name__.removesuffix("Config").lower()
            raise ForagerError(told if name == "crawl" else f"{name}.{told}")

    def fault(self) -> str:
        """What is wrong although every value fits its type: the key, and words. "" if nothing is."""
        return ""


def read_table(path: Path, kind: type[T]) -> T:
    """The table that a whole file is."""
    found = read_toml(path)
    try:
        return to_table(found, kind)
    except ForagerError as error:
        raise ForagerError(f"{path}: {error}") from None


def to_table(found: dict[str, Any], kind: type[T]) -> T:
    """A table from what a TOML file has for it."""
    told = next(_faults(found, _type(kind), ""), "")
    if told:
        raise ForagerError(told)
    return msgspec.convert(found, kind)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise ForagerError(f"{path} has more than {LARGEST:,} bytes: a configuration is smaller; shorten it")
        return _parse(path, text.decode("utf-8-sig"))
    except FileNotFoundError:
        raise ForagerError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{path} cannot be read: {error}") from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    if _ENDLESS_KEY.search(text):
        raise ForagerError(f"{path} is not valid TOML: a key has more than 200 parts; shorten it")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ForagerError(f"{path} is not valid TOML: tables or lists are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ForagerError(f"{path} is not valid TOML: {error}") from None
    except ValueError:  # of int()
        raise ForagerError(f"{path} is not valid TOML: a number has too many digits") from None


def broken_pattern(**lists: Sequence[str]) -> str:
    """The first text in these lists that is no regular expression, in words. "" if all are."""
    for key, patterns in lists.items():
        for pattern in patterns:
            try:
                with catch_warnings():
                    simplefilter("ignore")
                    re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                return f"{key}: {_shown(pattern)} is not a regular expression: {error}"
    return ""


# ---- what does not fit ----------------------------------------------------------------------------------------------


@cache
def _type(kind: type[Table]) -> inspect.Type:
    return inspect.type_info(kind)


def _faults_of(made: Table) -> Iterator[str]:
    """What is wrong with a table that was made in Python. Tables within it were checked when they were made."""
    kind = _type(type(made))
    assert isinstance(kind, inspect.StructType)
    for field in kind.fields:
        yield from _faults(getattr(made, field.name), field.type, field.encode_name, made=True)


def _faults(value: object, kind: inspect.Type, where: str, *, made: bool = False) -> Iterator[str]:
    """What is wrong with a value: its place, what it is, and what to give instead. `made`: in Python."""
    match _bare(kind):
        case inspect.UnionType(types=kinds):
            yield from _faults_in_union(value, kinds, where, made)
        case inspect.StructType() as table if isinstance(value, dict) and not made:
            yield from _faults_in_table(value, table, where)
        case inspect.VarTupleType(item_type=each) if isinstance(value, Sequence) and not isinstance(value, str):
            for number, item in enumerate(value):
                yield from _faults(item, each, f"{where}[{number}]", made=made)
        case inspect.DictType(key_type=keys, value_type=values) if isinstance(value, Mapping):
            for key, item in value.items():
                yield from _faults(key, keys, where, made=made)
                yield from _faults(item, values, f"{where}.{_shown(key)}", made=made)
        case inspect.IntType(ge=least, le=most) if isinstance(value, int) and not isinstance(value, bool):
            yield from _faults_in_number(value, least, most, where, kind)
        case inspect.FloatType(ge=least, le=most) if isinstance(value, int | float) and not isinstance(value, bool):
            yield from _faults_in_number(value, least, most, where, kind)
        case fitting if not _fits(value, fitting):
            yield f"{where or 'the file'}: {_shown(value)} does not fit: give {_wish(kind)}"


def _bare(kind: inspect.Type) -> inspect.Type:
    """A type without what is said beside it."""
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _faults_in_number(
    value: float, least: float | None, most: float | None, where: str, kind: inspect.Type
) -> Iterator[str]:
    if value != value:
        yield f"{where}: nan is no number: give {_wish(kind)}"
    elif least is not None and value < least:
        yield f"{where}: {_shown(value)} is too small: give {_number(least)} or more{_unit(kind)}"
    elif most is not None and value > most:
        yield f"{where}: {_shown(value)} is too large: give {_number(most)} or less{_unit(kind)}"


def _faults_in_union(value: object, kinds: Sequence[inspect.Type], where: str, made: bool) -> Iterator[str]:
    """A value must fit one of several types. Most of the time these are one type and none."""
    told = [next(_faults(value, each, where, made=made), "") for each in kinds]
    if all(told):
        near = [text for text in told if "does not fit" not in text]
        given = _wish(inspect.UnionType(tuple(kinds)))
        yield next(iter(near), f"{where}: {_shown(value)} does not fit: give {given}")


def _faults_in_table(value: dict[str, Any], kind: inspect.StructType, where: str) -> Iterator[str]:
    fields = {field.encode_name: field for field in kind.fields}
    for key in value:
        if key not in fields:
            place = f"in {where}, " if "[" in where else f"in [{where}], " if where else ""
            yield f"{place}{unknown('key', key, fields)}"
    for key, field in fields.items():
        if key in value:
            yield from _faults(value[key], field.type, f"{where}.{key}".lstrip("."))
        elif field.required:
            yield f"{where or 'the file'}: {key} is missing: give {_wish(field.type)}"


def _fits(value: object, kind: inspect.Type) -> bool:
    match kind:
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.NoneType():
            return value is None
        case inspect.LiteralType():
            return isinstance(value, str) and value in kind.values
        case inspect.StructType():
            return isinstance(value, kind.cls)
        case inspect.IntType() | inspect.FloatType() | inspect.VarTupleType() | inspect.DictType():
            return False  # or it would not have come here
    return True


def _wish(kind: inspect.Type) -> str:
    """What to give for a type."""
    match _bare(kind):
        case inspect.UnionType(types=kinds):
            return " or ".join(_wish(each) for each in kinds if not isinstance(each, inspect.NoneType))
        case inspect.IntType(ge=least, le=most):
            return f"a whole number{_range(least, most)}{_unit(kind)}"
        case inspect.FloatType(ge=least, le=most):
            return f"a number{_range(least, most)}{_unit(kind)}"
        case inspect.LiteralType(values=values):
            return " or ".join(f'"{each}"' for each in values)
        case inspect.VarTupleType(item_type=each):
            return f"a list with {_wish(each)} in each place"
        case inspect.StructType(cls=cls):
            return f"a table (in Python: {cls.__name__})"
        case inspect.StrType():
            return "text in quotes"
        case inspect.BoolType():
            return "true or false"
    return "a table"


def _unit(kind: inspect.Type) -> str:
    unit = (kind.extra or {}).get("unit") if isinstance(kind, inspect.Metadata) else None
    return f" {unit}" if unit else ""


def _range(least: float | None, most: float | None) -> str:
    return "" if least is None or most is None else f" from {_number(least)} to {_number(most)}"


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _shown(value: object) -> str:
    """A value, but never much of it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > 3 * DIGITS:
        return f"a number of about {int(value.bit_length() * 0.30103) + 1:,} digits"
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN else f"{value[:SHOWN]}…")
    if isinstance(value, Mapping | Sequence):
        return "a table" if isinstance(value, Mapping) else "a list"
    return str(value)[:SHOWN]
