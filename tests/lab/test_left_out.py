"""Weights that have not seen a row: which file a crawl goes by, and that kept crawls belong to what is in it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.registry import Spec
from forager.strategies.weigher.combiner import Combiner, load_weights
from forager.strategies.weigher.signals import NAMES
from forager_lab import pretraining
from forager_lab.ablation import ENDLESS, fit_without, unseen, write_ablated
from forager_lab.cells import cell_key
from forager_lab.comparison import compare
from forager_lab.experiment import Cell, Plan, TopicGoal, crawl_cell
from forager_lab.families import FAMILIES, columns
from forager_lab.left_out import UnseenWeights, strategy_spec
from forager_lab.matrix import run_matrix
from forager_lab.matrix_file import MatrixLimits, read_matrix
from forager_lab.pretraining import Noted, read_noted, write_noted

WEB = "procedural:hosts=6:pages_per_host=25:links=12:length=2000"
PLAN = Plan(WEB, TopicGoal("Business"), ("best-first", "default"), runs=1, pages=25)
CELL = Cell("default", 0, None)

pytestmark = pytest.mark.usefixtures("own_cache")


def write_weights(file: Path, sign: float = 1.0, *, learnt: Any = None, date: str = "") -> Path:
    """The package's weights, or their opposite, as if they had learnt elsewhere."""
    weights = {**load_weights(), "learnt from": learnt or {"elsewhere Birds": 9}, "date": date}
    webs = {name: {"w": [sign * w for w in web["w"]], "b": web["b"]} for name, web in weights["webs"].items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**weights, "webs": webs}), encoding="utf-8")
    return file


def left_out(folder: Path, name: str = "procedural") -> Plan:
    return replace(PLAN, left_out=UnseenWeights(folder, name))


# ---- which weights --------------------------------------------------------------------------------------------------


def test_a_crawl_goes_by_the_weights_in_the_folder(tmp_path: Path) -> None:
    file = write_weights(tmp_path / "procedural.json", -1)
    ours = crawl_cell(left_out(tmp_path), CELL).order
    assert ours == crawl_cell(PLAN, replace(CELL, strategy=f"default:weights={file}")).order
    assert ours != crawl_cell(PLAN, CELL).order  # by those of the package


def test_options_stay_and_weights_of_ones_own_win(tmp_path: Path) -> None:
    where = UnseenWeights(tmp_path, "uic")
    assert strategy_spec("best-first:tau=0.3", where) == Spec("best-first", {"tau": 0.3})
    assert strategy_spec("default:adapt=false", where).options == {
        "adapt": False,
        "weights": str(tmp_path / "uic.json"),
    }
    assert strategy_spec("default:weights=x.json", where).options == {"weights": "x.json"}
    assert strategy_spec("default", None) == Spec("default")


def test_without_a_family_there_is_another_folder_and_without_the_source_no_expert_for_it(tmp_path: Path) -> None:
    where = UnseenWeights(tmp_path, "uic")
    assert strategy_spec("default:without=words", where).options == {
        "weights": str(tmp_path / "without-words" / "uic.json")
    }
    assert strategy_spec("default:without=source", where).options["guard"] is False
    with pytest.raises(ForagerError, match="no family of signals named 'word'; nearest: words"):
        strategy_spec("default:without=word", where)
    with pytest.raises(ForagerError, match="default:without=words: only a matrix file with left_out_weights"):
        strategy_spec("default:without=words", None)


MATRIX = f"""
strategies = ["best-first", "default"]
runs = 3
pages = 12
left_out_weights = "unseen"
by_topic = ["known"]
[[experiment]]
web = "known"
topic = ["Arts.Music", "Birds"]
[[experiment]]
web = "known"
target = "Birds"
leave_out = "group"
[[experiment]]
web = "other"
topic = "Birds"
[[experiment]]
web = "{WEB}"
topic = "Business"
examples = 5
flipped = 0.3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for web in ("known", "other"):
        (tmp_path / web).mkdir()
    file = tmp_path / "m.toml"
    file.write_text(MATRIX, encoding="utf-8")
    return file


def test_the_topic_is_left_out_for_webs_by_topic_else_the_web(file: Path, tmp_path: Path) -> None:
    plans = read_matrix(file, kept=tmp_path / "kept").plans
    assert {name: plan.left_out.name for name, plan in plans.items() if plan.left_out} == {
        "known · Arts.Music": "known-Arts.Music",
        "known · Birds": "known-Birds",
        "known · Birds (2)": "known",
        "other · Birds": "other",
        f"{WEB} · Business, 5 examples, 30 % flipped": "procedural",
    }
    assert {plan.left_out.folder for plan in plans.values() if plan.left_out} == {tmp_path / "kept" / "unseen"}


def test_another_folder_can_be_named_or_none(file: Path, tmp_path: Path) -> None:
    given = read_matrix(file, left_out=str(tmp_path / "mine")).plans.values()
    assert {plan.left_out.folder for plan in given if plan.left_out} == {tmp_path / "mine"}
    assert {plan.left_out for plan in read_matrix(file, left_out="none").plans.values()} == {None}
    file.write_text(MATRIX.replace('left_out_weights = "unseen"', ""), encoding="utf-8")
    assert {plan.left_out for plan in read_matrix(file).plans.values()} == {None}


def test_limits_take_few_runs_and_some_experiments(file: Path) -> None:
    plans = read_matrix(file).plans
    few = MatrixLimits(2, ("other", "Music")).of(plans)
    assert {name: plan.runs for name, plan in few.items()} == {"known · Arts.Music": 2, "other · Birds": 2}
    assert {plan.runs for plan in MatrixLimits(9).of(plans).values()} == {3}
    with pytest.raises(ForagerError, match="no experiment named 'othr'; nearest: "):
        MatrixLimits(only=("othr",)).of(plans)


def test_a_missing_file_is_told_in_one_line_before_anything_is_crawled(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(
        f"strategies = ['best-first', 'default']\nruns = 1\npages = 5\nleft_out_weights = 'unseen'\n"
        f"[[experiment]]\nweb = '{WEB}'\ntopic = 'Business'\n",
        encoding="utf-8",
    )
    with pytest.raises(
        ForagerError, match=r"· Business: no weights .* procedural in .*procedural\.json: make .*make left-out"
    ) as error:
        compare(file, kept=tmp_path / "kept")
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "kept").glob("*.npz"))
    page = tmp_path / "comparison.md"
    compare(file, kept=tmp_path / "kept", left_out="none")
    assert "`default` has the weights of the package, which were learnt on the recorded webs too." in page.read_text()
    write_weights(tmp_path / "kept" / "unseen" / "procedural.json")
    compare(file, kept=tmp_path / "kept")
    assert "has weights that have not seen its row. Left out of what they learnt: procedural." in page.read_text()


def test_weights_that_have_seen_the_row_are_refused(tmp_path: Path) -> None:
    for name in ("uic", "wikispeedia-Music", "wikispeedia-IT", "webkb"):
        write_weights(tmp_path / f"{name}.json", learnt={"uic news": 5, "wikispeedia Music": 7})
    for name in ("uic", "wikispeedia-Music"):
        with pytest.raises(
            ForagerError, match=rf"{name}\.json: these weights have learnt from {name.replace('-', ' ')}"
        ):
            UnseenWeights(tmp_path, name).fingerprint(Spec("default"))
    for name in ("wikispeedia-IT", "webkb"):
        assert UnseenWeights(tmp_path, name).fingerprint(Spec("default"))


# ---- kept crawls ----------------------------------------------------------------------------------------------------


def test_a_key_depends_on_what_is_in_the_file_and_not_on_where_or_when(tmp_path: Path) -> None:
    write_weights(tmp_path / "one" / "procedural.json", date="2026-01-01")
    write_weights(tmp_path / "two" / "other.json", date="2026-01-02")
    write_weights(tmp_path / "three" / "procedural.json", -1)
    one, two, three = (
        cell_key("web", left_out(tmp_path / folder, name), CELL)
        for folder, name in (("one", "procedural"), ("two", "other"), ("three", "procedural"))
    )
    assert one == two != three
    assert one != cell_key("web", PLAN, CELL)
    other = replace(CELL, strategy="best-first")
    assert cell_key("web", left_out(tmp_path / "one"), other) == cell_key("web", PLAN, other)


def test_a_cell_is_crawled_again_when_its_weights_change_and_only_then(tmp_path: Path) -> None:
    folder, kept = tmp_path / "weights", tmp_path / "kept"
    write_weights(folder / "procedural.json")
    plans = {"row": left_out(folder)}
    assert run_matrix(plans, kept).crawled == 2
    assert run_matrix(plans, kept).crawled == 0
    write_weights(folder / "procedural.json", -1)
    assert run_matrix(plans, kept).crawled == 1


def test_a_cell_of_two_experiments_is_crawled_once_and_is_in_both(tmp_path: Path) -> None:
    plans = {
        "one": replace(PLAN, strategies=("best-first",)),
        "two": replace(PLAN, strategies=("random", "best-first")),
    }
    done = run_matrix(plans, tmp_path)
    assert (done.crawled, sum(done.codes.values())) == (2, 2)
    cell = Cell("best-first", 0, None)
    assert done.experiments["one"].records[cell].order == done.experiments["two"].records[cell].order


# ---- families -------------------------------------------------------------------------------------------------------


def test_every_signal_is_in_one_family() -> None:
    found = sorted(at for family in FAMILIES for at in columns(family))
    assert found == list(range(len(NAMES)))
    assert [NAMES[at] for at in columns("source")] == ["source, largest", "source, mean", "opinion, mean"]


def made_up(topics: int = 3) -> dict[tuple[str, str], Noted]:
    """A signal of meaning tells everything, one of words a little."""
    draw, noted = np.random.default_rng(4), {}
    meaning, words = columns("meaning")[0], columns("words")[0]
    for topic in range(topics):
        signals = draw.normal(size=(600, len(NAMES))).astype(np.float32)
        says = 3 * signals[:, meaning] + 0.5 * signals[:, words]
        noted["a" if topic else "b", str(topic)] = Noted(signals, (says > 0).astype(np.float64))
    return noted


def test_weights_without_a_family_do_not_use_it_whatever_a_crawl_learns() -> None:
    draw, gone = np.random.default_rng(5), columns("meaning")
    weights = fit_without(made_up(), "meaning")
    experts = [np.array(web["w"]) for web in weights["webs"].values()]  # type: ignore[attr-defined]
    assert all(not expert[gone].any() and expert[columns("words")[0]] > 0.1 for expert in experts)
    combiner = Combiner(weights)
    for _ in range(60):
        signals = draw.normal(size=len(NAMES)).astype(np.float32)
        combiner.learn(signals, float(signals[gone[0]] > 0))
    signals = draw.normal(size=(2, len(NAMES))).astype(np.float32)
    signals[1] = signals[0]
    signals[1, gone] += 5
    scores = combiner(signals)
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)
    signals[1, columns("words")[0]] += 5
    assert combiner(signals)[1] - scores[0] > 0.1


def test_what_is_left_out_is_a_web_or_a_topic() -> None:
    assert list(unseen(made_up(), "a")) == [("b", "0")]
    assert list(unseen(made_up(), "a-1")) == [("b", "0"), ("a", "2")]


def test_a_matrix_gets_the_weights_without_a_family_that_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(
        "strategies = ['default', 'default:without=words', 'default:without=past']\nleft_out_weights = 'unseen'\n"
        f"by_topic = ['procedural']\n[[experiment]]\nweb = '{WEB}'\ntopic = ['Business', 'Arts']\n",
        encoding="utf-8",
    )
    with pytest.raises(ForagerError, match=r"noted\.npz: there is no such file; `make left-out WEBS=DIR`"):
        write_ablated(file, [], tmp_path)
    noted = {
        ("procedural", topic): of for topic, of in zip(("Business", "Arts", "Home"), made_up().values(), strict=True)
    }
    write_noted(noted, tmp_path / "unseen" / "noted.npz")
    written = write_ablated(file, [], tmp_path)
    names = ("procedural-Business.json", "procedural-Arts.json")
    assert sorted(written) == sorted(
        tmp_path / "unseen" / f"without-{family}" / name for family in ("words", "past") for name in names
    )
    weights = load_weights(str(tmp_path / "unseen" / "without-past" / names[0]))
    assert weights["learnt from"] == {"procedural Arts": 600, "procedural Home": 600}
    assert [at for at, scale in enumerate(weights["scale"]) if scale == ENDLESS] == columns("past")


# ---- what was noted -------------------------------------------------------------------------------------------------


def test_what_was_noted_comes_back_and_other_signals_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted, file = made_up(), tmp_path / "new" / "noted.npz"
    write_noted(noted, file)
    found = read_noted(file)
    assert list(found) == list(noted)
    assert all(np.array_equal(found[key].signals, of.signals) for key, of in noted.items())
    assert all(np.array_equal(found[key].wanted, of.wanted) for key, of in noted.items())
    assert list(read_noted(file, ["b", "a:1"])) == [("a", "2")]
    assert [each.name for each in file.parent.iterdir()] == ["noted.npz"]
    monkeypatch.setattr(pretraining, "NAMES", ("one", *NAMES[1:]))
    with pytest.raises(ForagerError, match=r"noted\.npz: other signals were noted there"):
        read_noted(file)
    file.write_bytes(b"no")
    with pytest.raises(ForagerError, match=r"noted\.npz: nothing that was noted can be read"):
        read_noted(file)


def test_weights_are_fitted_again_without_a_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = tmp_path / "noted.npz"
    write_noted(made_up(), noted)
    line = ["pretraining", "--webs", str(tmp_path), "--noted", str(noted), "--left-out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", [*line, str(tmp_path / "all.json")])
    monkeypatch.setattr(pretraining, "watch", None)  # whoever crawls, fails
    pretraining.main()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "a-1.json",
        "a-2.json",
        "a.json",
        "b-0.json",
        "b.json",
    ]
    assert load_weights(str(tmp_path / "all.json"))["learnt from"] == {"b 0": 600, "a 1": 600, "a 2": 600}
    assert list(load_weights(str(tmp_path / "out" / "a.json"))["webs"]) == ["b"]


def test_what_is_noted_in_crawls_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining, "TOPICS", {"procedural": ("Arts.Music",)})
    monkeypatch.setattr(pretraining, "watch", lambda task: made_up(1)["b", "0"])
    line = ["pretraining", "--webs", "x", "--jobs", "1", "--rounds", "2", "--noted", str(tmp_path / "n.npz")]
    monkeypatch.setattr(sys, "argv", [*line, str(tmp_path / "all.json")])
    pretraining.main()
    assert {key: len(of.wanted) for key, of in read_noted(tmp_path / "n.npz").items()} == {
        ("procedural", "Arts.Music"): 1200
    }
