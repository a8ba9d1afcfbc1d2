import pytest

from forager.errors import ForagerError
from forager.types import Url
from forager.web.scope import Scope, Within

SEEDS = [Url("http://www.a.org/"), Url("http://b.co.uk/x")]
LINKS = [
    Url("http://www.a.org/1"),
    Url("http://news.a.org/2"),
    Url("https://b.co.uk/x"),
    Url("http://c.org/3.pdf"),
    Url("http://b.co.uk/x"),
]


def admitted(scope: Scope, depth: int = 1) -> list[int]:
    return scope.admit(LINKS, depth).rows


@pytest.mark.parametrize(
    ("within", "rows"), [("anywhere", [0, 1, 2, 3, 4]), ("host", [0, 2, 4]), ("site", [0, 1, 2, 4]), ("list", [4])]
)
def test_within(within: Within, rows: list[int]) -> None:
    assert admitted(Scope(within=within, seeds=SEEDS)) == rows


def test_each_rejection_is_counted_once_by_its_first_rule() -> None:
    scope = Scope(within="site", seeds=SEEDS, exclude=(r"\.pdf$", "news"), include=("/[12]$",), schemes=("http",))
    admission = scope.admit(LINKS, 1)
    assert admission.rows == [0]
    assert admission.rejected == {"scheme": 1, "exclude": 1, "site": 1, "include": 1}
    assert len(admission.rows) + admission.rejected.total() == len(LINKS)


def test_depth() -> None:
    scope = Scope(max_depth=2)
    assert admitted(scope, 2) == [0, 1, 2, 3, 4]
    assert scope.admit(LINKS, 3).rejected == {"depth": 5}
    assert scope.admit([], 3).rejected == {}


def test_barred_urls() -> None:
    assert admitted(Scope(barred=frozenset(LINKS[:2]))) == [2, 3, 4]


def test_a_broken_pattern_is_named() -> None:
    with pytest.raises(ForagerError, match=r"scope\.exclude: '\(' is not a regular expression"):
        Scope(exclude=("(",))


@pytest.mark.parametrize("pattern", [r"(?i)Q{2}", r"(?P<a>q)q", r"(q)\1", r"(q)?(?(1)q|z)"])
def test_flags_names_and_numbers_of_groups_belong_to_one_pattern(pattern: str) -> None:
    scope = Scope(exclude=(r"(?P<a>y)y", pattern))
    urls = [Url(f"http://a.test/{name}") for name in ("qq", "q", "yy", "qy")]
    assert scope.admit(urls, 1).rows == [1, 3]
