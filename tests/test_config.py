"""One TOML file: what is right is typed, what is wrong is said in one line with the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, time
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect
from msgspec.structs import replace

from forager.config import CrawlConfig, FrontierConfig, Named, ScopeConfig, StopConfig, read_config
from forager.errors import ForagerError
from forager.tables import to_table

WHOLE = """
seeds = ["http://a.test/"]
seed = 7

[critic]
name = "predicate"
options.keywords = ["bird"]

[strategy]
name = "best-first"
options = { tau = 0.2, hard = false }

[scope]
within = "site"
exclude = ['\\.pdf$']
max_depth = 4

[frontier]
delay = 0.5
pages_per_host = 100

[stop]
pages = 1000

[urls]
strip = ["trk_*"]

[fetch]
replay = "webs/small"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "crawl.toml"
    file.write_text(text)
    return file


def test_every_key_is_read_and_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, WHOLE))
    assert config.seeds == ("http://a.test/",)
    assert config.strategy == Named(name="best-first", options={"tau": 0.2, "hard": False})
    assert (config.scope.within, config.scope.exclude, config.scope.max_depth) == ("site", (r"\.pdf$",), 4)
    assert (config.frontier.delay, config.frontier.pages_per_host, config.stop.pages) == (0.5, 100, 1000)
    assert config.fetch.replay == str(tmp_path / "webs/small")


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    assert read_config(written(tmp_path, "")) == CrawlConfig()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seeds == []", r"crawl\.toml is not valid TOML: .*line 1"),
        ("sedes = []", "no key named 'sedes'; nearest: seeds, seed"),
        ("[scope]\nwithin = 'site'\nexlude = []", r"in \[scope\], no key named 'exlude'; nearest: exclude, include"),
        ("[stop]\npages = 'many'", "stop.pages: 'many' does not fit: give a whole number from 1 to "),
        ("[stop]\npages = 1.5", "stop.pages: 1.5 does not fit: give a whole number"),
        ("[scope]\nwithin = 'planet'", 'scope.within: \'planet\' does not fit: give "anywhere" or "host" or'),
        ("[scope]\nschemes = ['ftp']", r"scope.schemes\[0\]: 'ftp' does not fit: give \"http\" or \"https\""),
        ("[scope]\nfeeds = 1", "scope.feeds: 1 does not fit: give true or false"),
        ("[strategy]\noptions = {}", "strategy: name is missing: give text in quotes"),
        ("[critic]\nnam = 'x'", r"in \[critic\], no key named 'nam'; nearest: name"),
        ("[topic]\nkeyword = 'x'", r"in \[topic\], no key named 'keyword'; nearest: keywords"),
        ("[[fetch.headers]]\nhost = []", r"in fetch.headers\[0\], no key named 'host'; nearest: hosts"),
        ("fetch.resolve = {'a.test' = 3}", "fetch.resolve.'a.test': 3 does not fit: give text in quotes"),
        ("seeds = 'http://a.test/'", "seeds: 'http://a.test/' does not fit: give a list with text in quotes"),
        ("stop = 3", "stop: 3 does not fit: give a table"),
        ("[frontier]\ndelay = -5", "crawl.toml: frontier.delay: -5 is too small: give 0 or more seconds"),
        ("[frontier]\nin_flight = -3", "frontier.in_flight: -3 is too small: give 1 or more"),
        ("[frontier]\nin_flight = 99999", "frontier.in_flight: 99999 is too large: give 10,000 or less"),
        ("[stop]\nseconds = nan", "stop.seconds: nan is no number: give a number from 0 to 31,536,000 seconds"),
        ("[stop]\nseconds = inf", "stop.seconds: inf is too large: give 31,536,000 or less seconds"),
        ("[fetch]\ntotal = 0", "fetch.total: 0 is too small: give 0.01 or more seconds"),
        ("seed = 1" + "0" * 4000, "seed: a number of about 4,001 digits is too large: give 1,000,000,000,000,000 or"),
        ("seed = 0x" + "f" * 100_000, "seed: a number of about 120,41. digits is too large"),
        ("[frontier]\ndelay = 0x" + "f" * 4000, "frontier.delay: a number of about 4,817 digits is too large"),
        ("seed = " + "9" * 5000, "is not valid TOML: a number has too many digits"),
        ("[scope]\nexclude = ['a', '(']", r"crawl.toml: scope.exclude: '\(' is not a regular expression: missing \)"),
        ("[render]\npatterns = ['x{9999999999999}']", "render.patterns: 'x.*' is not a regular expression"),
        ("[scope]\ninclude = ['" + "(" * 5000 + "']", r"scope.include: '\(*…' is not a regular expression"),
        ("[refresh]\nsoonest = 9\nlatest = 8", "refresh.latest: 8 is less than soonest, which is 9: give 9 or more"),
        ("a = " + "[" * 100_000, "is not valid TOML: tables or lists are nested too deeply"),
        ("a = " + "{a=" * 100_000, "is not valid TOML: tables or lists are nested too deeply"),
        (".".join("a" * 30_000) + " = 1", "a key has more than 200 parts"),
        ("a = {" + " . ".join(["'a'"] * 30_000) + " = 1}", "a key has more than 200 parts"),
        ("#" * 20_000_000, "has more than 10,000,000 bytes"),
        ("'" + "x" * 100_000 + "' = 1", "no key named 'x*…'; nearest"),
        ('"\\u001b[31m` - at `$.x` \\u202e\\n" = 1', "no key named "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ForagerError, match=message) as caught:
        read_config(written(tmp_path, text))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="there is no such file"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(ForagerError, match="cannot be read"):
        read_config(tmp_path)


# ---- bounds


def leaves(kind: inspect.Type, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], inspect.Type]]:
    """Every key of the configuration with its type; of a list of tables the keys in the tables."""
    match kind:
        case inspect.Metadata(type=inner):
            yield from leaves(inner, place)
        case inspect.UnionType(types=kinds):
            yield from (leaf for each in kinds for leaf in leaves(each, place))
        case inspect.StructType(fields=fields):
            yield from (leaf for each in fields for leaf in leaves(each.type, (*place, each.encode_name)))
        case inspect.VarTupleType(item_type=inner) if isinstance(inner, inspect.StructType):
            yield from leaves(inner, place)
        case inspect.NoneType():
            return
        case _:
            yield place, kind


LEAVES = list(leaves(inspect.type_info(CrawlConfig)))
KEYS = sorted({place for place, _ in LEAVES})


def test_every_number_has_bounds() -> None:
    numbers = [(place, kind) for place, kind in LEAVES if isinstance(kind, inspect.IntType | inspect.FloatType)]
    assert len(numbers) > 20
    assert not [place for place, kind in numbers if kind.ge is None or kind.le is None]


def test_every_key_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    assert not [".".join(place) for place in KEYS if f"`{place[-1]}`" not in page]


def test_bounds_hold_for_configurations_made_in_python() -> None:
    with pytest.raises(ForagerError, match=r"^frontier.delay: -5 is too small: give 0 or more seconds$"):
        CrawlConfig(frontier=FrontierConfig(delay=-5))
    with pytest.raises(ForagerError, match=r"stop.seconds: nan is no number"):
        replace(CrawlConfig(), stop=replace(StopConfig(), seconds=float("nan")))
    with pytest.raises(ForagerError, match=r"^seeds: 'http://a.test/' does not fit: give a list"):
        CrawlConfig(seeds="http://a.test/")
    with pytest.raises(ForagerError, match=r"^stop: a table does not fit: give a table \(in Python: StopConfig\)"):
        CrawlConfig(stop={"pages": 3})  # type: ignore[arg-type]
    with pytest.raises(ForagerError, match=r"^scope.include: '\[' is not a regular expression"):
        ScopeConfig(include=("[",))
    assert CrawlConfig(seeds=["http://a.test/"], stop=StopConfig(seconds=3)).stop.seconds == 3


TEXTS = st.text(max_size=5) | st.sampled_from(["http", "site", "once", "(", "[a-", "\x1b[31m", "$HOME"])
NUMBERS = st.integers() | st.integers(-(10**5000), 10**5000) | st.floats()
OTHERS = st.booleans() | st.dates() | st.times() | st.datetimes() | st.none()
VALUES: st.SearchStrategy[Any] = st.recursive(
    TEXTS | NUMBERS | OTHERS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


AWKWARD: tuple[Any, ...] = (
    *(0, -1, 3, 10**16, 10**400, -(10**400), 16**100_000, 0.5, -0.0, 1e300, nan, inf, -inf, True, False),
    *("", "site", "(", "\x1b[31m\n", "x" * 1000, date(2000, 1, 1), time(), [], ["x"], ["("], [3], [[]], {}, {"a": 3}),
    *({"name": "x"}, [{"hosts": [], "name": "x", "value": 3}], [{"hosts": [], "url": "", "fields": {"a": "b"}}], [{}]),
)


def check(place: tuple[str, ...], value: Any) -> None:
    """This value for this key gives a configuration, or one line. The words agree with what msgspec takes."""
    table: Any = value
    for key in reversed(place):
        table = {key: table}
    try:
        expected = msgspec.convert(table, CrawlConfig)
    except (msgspec.ValidationError, ForagerError):
        with pytest.raises(ForagerError) as caught:
            to_table(table, CrawlConfig)
        assert str(caught.value).isprintable()
        assert "`" not in str(caught.value)  # these are not msgspec's words
    else:
        assert to_table(table, CrawlConfig) == expected or "nan" in repr(table)


def test_awkward_values_of_every_key_give_a_configuration_or_one_line() -> None:
    for place in KEYS:
        for depth in range(1, len(place) + 1):
            for value in AWKWARD:
                check(place[:depth], value)


@given(st.sampled_from(KEYS), VALUES)
@settings(max_examples=100, deadline=None)
def test_any_value_of_any_key_gives_a_configuration_or_one_line(place: tuple[str, ...], value: Any) -> None:
    check(place, value)


@given(st.text(alphabet="a1=.[]{}\"'\n,#-_:TZexn\\ é\x00\x1b", max_size=200) | st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_file_gives_a_configuration_or_one_line(content: str | bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "crawl.toml")
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        with suppress(ForagerError):
            assert isinstance(read_config(file), CrawlConfig)
