"""One TOML file: what is right is typed, what is wrong is said in one line with the cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from forager.config import CrawlConfig, Named, read_config
from forager.errors import ForagerError

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
        ("[stop]\npages = 'many'", "stop.pages: expected `int.*got `str`"),
        ("[scope]\nwithin = 'planet'", "scope.within: invalid enum value 'planet'"),
        ("[strategy]\noptions = {}", "strategy: object missing required field `name`"),
        ("[critic]\nnam = 'x'", r"in \[critic\], no key named 'nam'; nearest: name"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ForagerError, match=message) as caught:
        read_config(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="there is no such file"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(ForagerError, match="cannot be read"):
        read_config(tmp_path)
