"""The study of the lexical method: replayed crawls are the crawls, its arithmetic by hand, all of it on a small web."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.__main__ import app
from studies.kept_parts import PartsFolder, make_parts
from studies.lexical.crawl_sections import CrawlsCompared, ends
from studies.lexical.offline import (
    CRAWLED,
    EVENLY,
    FEW_CRITICS,
    LEXICAL,
    RULES,
    few_examples,
    given_levels,
)
from studies.lexical.page import accuracy, at_the_target, commonest, known_mean, write_lexical_page
from studies.lexical.study import (
    BREADTH,
    CRAWLERS,
    THESIS,
    FewPart,
    LexicalPlan,
    LexicalStudy,
    experiment_name,
    forms,
    run_lexical_study,
)
from studies.lexical.weights import (
    GENETIC,
    MULTIPLIED,
    PRODUCT,
    Fitness,
    FollowedLinkLevels,
    GeneticSettings,
    LevelWeights,
    LexicalReplay,
    earliness,
    evolve,
    rounded,
    summed,
)
from typer.testing import CliRunner

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.registry import Spec
from forager.strategies.lexical import make_lexical
from forager.strategies.lexical.links import LinkScore
from forager_lab import experiment
from forager_lab.level_trials import LevelGoal, level_by_label, level_trial, path_of
from forager_lab.protocol import Trial, crawl_trial

WEB = "procedural:hosts=10:pages_per_host=30:links=12:length=1500:redirects=0.3:dead=0.1"
SAME_HOST = "procedural:hosts=10:pages_per_host=30:links=12:length=1500:redirects=0"  # none to another host
TESTED, OTHER = "Business.Finance", "Society.Religion"
PLAN = LexicalPlan(
    WEB,
    (TESTED,),
    (OTHER,),
    runs=1,
    side_runs=1,
    pages=12,
    examples=3,
    sizes=(2, 15),
    draws=2,
    replays=1,
    breeding=GeneticSettings(5, 2),
    least_c=1.0,
)


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def done(folder: Path) -> LexicalStudy:
    return run_lexical_study(PLAN, folder)


@pytest.fixture(scope="module")
def trial() -> Trial:
    return level_trial(
        experiment.laboratory(WEB), LevelGoal(TESTED, examples=3), Spec("lexical"), run=0, seed=0, pages=100
    )


# ---- replayed crawls ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "score"),
    [
        ("lexical:proximity=0.0", PRODUCT),
        ("lexical:proximity=0.0:form=sum", summed((0.627, 0.062, 0.311))),
        ("lexical:proximity=0.0:form=sum:a=0.1:b=0.8:c=0.1", summed((0.1, 0.8, 0.1))),
    ],
)
def test_a_replay_fetches_what_the_crawl_does(trial: Trial, spec: str, score: LinkScore) -> None:
    """That web has redirects, dead links and pages found again."""
    lab = experiment.laboratory(WEB)
    record = crawl_trial(lab, trial, Spec.parse(spec))
    replay = LexicalReplay(lab, trial)
    replayed = replay.crawl(score, 100)
    assert replayed.order == record.order
    assert len(replayed.order) == 100 < record.requests
    assert replay.found(replayed).tolist() == (record.relevant & ~record.trained).tolist()


def test_the_links_followed_are_those_of_the_crawl() -> None:
    lab = experiment.laboratory(SAME_HOST)
    trial = level_trial(lab, LevelGoal(TESTED, examples=3), Spec("lexical"), run=0, seed=0)
    strategy = make_lexical(critic=trial.critic, proximity=0.0)
    config = CrawlConfig(
        seeds=tuple(trial.seeds),
        frontier=FrontierConfig(delay=0, delay_factor=0),
        stop=StopConfig(pages=100),
        seed=trial.seed,
    )
    crawl = Crawl(
        config, critic=trial.critic, strategy=strategy, fetcher=lab.web.fetcher, scope=trial.scope,
        clock=VirtualClock(), read=lab.cache.read,
    )  # fmt: skip
    theirs, ours = FollowedLinkLevels.of(list(crawl), strategy.page_level), LexicalReplay(lab, trial).followed(100)
    assert len(ours.reached) == 99
    assert ours.levels.tolist() == theirs.levels.tolist()
    assert ours.reached.tolist() == theirs.reached.tolist()


def test_early_pages_count_more() -> None:
    """Of 4 pages the places are worth 1, 3/4, 1/2, 1/4; two relevant ones at best 7/4."""
    marks = np.array([False, True, False, True])
    assert earliness(marks, 2, 4) == pytest.approx((0.75 + 0.25) / 1.75)
    assert earliness(~marks, 2, 4) == pytest.approx(1.5 / 1.75)
    assert earliness(np.array([True, True]), 2, 4) == 1.0
    assert earliness(np.array([False]), 2, 4) == earliness(marks[:0], 0, 4) == 0.0


# ---- the search -----------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_weights_are_made_of_any_numbers(numbers: list[float]) -> None:
    a, b, c = rounded(np.array(numbers))
    assert a > 0
    assert b > 0
    assert c >= 0
    assert a + b + c == pytest.approx(1)
    assert rounded(np.array([a, b, c])) == pytest.approx((a, b, c), abs=0.002)


def near(wanted: LevelWeights) -> Fitness:
    return lambda weights: -float(np.abs(np.array(weights) - wanted).sum())


def test_evolution_comes_near_the_best() -> None:
    """Far from where it begins, and better than as many weights drawn by chance are on average."""
    found = evolve(near((0.15, 0.8, 0.05)), [(0.627, 0.062, 0.311)], GeneticSettings(16, 12), seed=1)
    assert found.weights == pytest.approx((0.15, 0.8, 0.05), abs=0.05)
    assert list(found.history) == sorted(found.history)
    assert found.fitness == found.history[-1]


def test_evolution_tries_nothing_twice_and_repeats_itself() -> None:
    asked: list[LevelWeights] = []

    def fitness(weights: LevelWeights) -> float:
        asked.append(weights)
        return 0.0

    first = (0.627, 0.062, 0.311)
    found = evolve(fitness, [first], GeneticSettings(6, 4), seed=3)
    assert asked[0] == first
    assert len(asked) == len(set(asked)) == found.tried <= 6 + 3 * 4
    assert evolve(fitness, [first], GeneticSettings(6, 4), seed=3) == found


def test_wrong_breeding_is_refused() -> None:
    with pytest.raises(ForagerError, match="genetic search"):
        GeneticSettings(size=2, elite=2)


# ---- arithmetic -----------------------------------------------------------------------------------------------------


def test_crawls_are_compared_one_by_one() -> None:
    """Twice as many as nothing is something."""
    score = CrawlsCompared.of([[4, 3, 0], [1, 0, 2]], [[2, 2, 0], [0, 1, 2]])
    assert (score.better, score.equal, score.worse, score.double) == (3, 2, 1, 2)
    assert str(score) == "3 / 2 / 1"
    assert score.crawls == 6


def test_accuracy_of_levels_by_hand() -> None:
    """10 pages: of 4 at level 1 three are told so, of 4 at level 2 two, of 2 outside one; 2 of others at level 1."""
    told = np.array([[3, 1, 0], [1, 2, 1], [1, 0, 1]])
    assert accuracy(told) == 0.6
    assert commonest(told) == 0.4
    assert at_the_target(told) == (0.6, 0.75)
    nothing = np.zeros((2, 2), int)
    assert (accuracy(nothing), commonest(nothing), at_the_target(nothing)) == (None, None, (None, None))
    assert known_mean([1.0, None, 3.0]) == 2.0
    assert known_mean([None]) is None


# ---- without crawling -----------------------------------------------------------------------------------------------


def test_levels_are_told_of_pages_that_were_not_shown() -> None:
    """Rows are what the labels say: as many pages as there are of each level, those shown left out."""
    lab, goal, path = experiment.laboratory(WEB), LevelGoal(TESTED, examples=3), path_of(TESTED)
    labels = lab.web.truth.labels
    crawled = list(labels)[:40]
    tables = given_levels(lab, goal, run=0, seed=0, crawled=crawled)
    assert tables.keys() == RULES.keys()
    of_level = [sum(level_by_label(given, path) == level for given in labels.values()) for level in (1, 2, 3)]
    for table in tables.values():
        assert table[EVENLY].sum(axis=1)[:2].tolist() == [of_level[0] - 3, of_level[1] - 3]
        assert 0 < table[CRAWLED].sum() <= sum(bool(labels[url]) for url in crawled)
    assert given_levels(lab, goal, run=0, seed=0, crawled=crawled)["as it is"][EVENLY].tolist() == (
        tables["as it is"][EVENLY].tolist()
    )


def test_critics_with_few_examples() -> None:
    """A topic of 20 pages cannot give 15; the lexical critic that is told more of a page ranks no worse."""
    found = few_examples(experiment.laboratory(WEB), TESTED, (2, 15), draws=1, seed=0)
    assert tuple(found) == FEW_CRITICS
    for (few,), (many,) in found.values():
        assert few is not None
        assert 0 < few <= 1
        assert many is None
    assert found["lexical, finer"][0][0] >= found[LEXICAL][0][0]  # type: ignore[operator]


# ---- all of it ------------------------------------------------------------------------------------------------------


def test_all_variants_share_examples_and_starts(done: LexicalStudy) -> None:
    for variant in (*CRAWLERS, *forms(done.searched).values(), *PLAN.options):
        record, usual = done.record(variant, TESTED, 0), done.record(THESIS, TESTED, 0)
        assert record.order[0] == usual.order[0]
        assert len(record.order) == PLAN.pages
    assert {*done.sizes} == {TESTED, OTHER}
    assert done.sizes[TESTED] == 20 - 3


def test_what_is_called_thesis_has_the_terms_of_the_thesis() -> None:
    critic, strategy = Spec.parse(THESIS.critic).options, Spec.parse(THESIS.strategy).options
    assert (THESIS.name, critic["mode"], critic["terms"], critic["least_c"]) == ("thesis", "thesis", 0, 0)
    assert strategy["proximity"] == strategy["reward"] == strategy["parent_share"] == 0
    assert THESIS in CRAWLERS


def test_examples_do_not_count(done: LexicalStudy) -> None:
    record, shown = done.record(THESIS, TESTED, 0), done.shown[TESTED, 0]
    new = record.relevant & ~np.array([url in shown for url in record.order])
    assert [done.found(THESIS, TESTED, 0, pages) for pages in (5, 12)] == [int(new[:5].sum()), int(new.sum())]
    assert (record.trained == [url in shown for url in record.order]).all()


def test_only_options_are_crawled_on_other_topics(done: LexicalStudy) -> None:
    tried = {
        variant for variant in (*CRAWLERS, *PLAN.options) if experiment_name(OTHER, variant) in done.done.experiments
    }
    assert {BREADTH, THESIS, *PLAN.options} <= tried
    strategies = done.done.experiments[experiment_name(OTHER, THESIS)].plan.strategies
    assert not any("features" in name or "context=" in name or "sum" in name for name in strategies)


def test_the_weights_found_are_crawled_with(done: LexicalStudy) -> None:
    weights = done.searched.forms[GENETIC].weights
    assert weights is not None
    spec = Spec.parse(forms(done.searched)[GENETIC].strategy)
    assert tuple(spec.options[name] for name in "abc") == weights
    assert forms(done.searched)[MULTIPLIED] == THESIS
    best = max(found.fitness for found in done.searched.forms.values() if found.weights)
    assert done.searched.forms[GENETIC].fitness == best == done.searched.history[-1]


def test_every_section_is_on_the_page_and_the_same_each_time(done: LexicalStudy, tmp_path: Path) -> None:
    (tmp_path / "lexical-reading.toml").write_text('few = "Few suffice."\ncrawlers = "It finds more."\n')
    written = []
    for _ in range(2):
        page = write_lexical_page(done, tmp_path / "lexical")
        written.append({path.name: path.read_bytes() for path in [page, *(tmp_path / "lexical").iterdir()]})
    assert written[0] == written[1]
    text = page.read_text()
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert len(titles) == 9
    assert "*Here*: Few suffice." in text
    pictures = re.findall(r"\]\((lexical/.*\.svg)\)", text)
    assert len(pictures) == len(set(pictures)) == len(list((tmp_path / "lexical").iterdir())) == 4
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):  # every row is as long as its head
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_a_rerun_makes_nothing_and_a_lost_part_is_made_again(done: LexicalStudy, folder: Path) -> None:
    lost = next(folder.glob("study-*.npz"))
    lost.unlink()
    notes: list[str] = []
    again = run_lexical_study(PLAN, folder, note=notes.append)
    assert again.done.crawled == 0
    assert len(notes) == 1
    assert notes[0].endswith(": done")
    assert again.codes == done.codes
    assert again.searched == done.searched
    assert again.few == done.few


def test_two_processes_make_what_one_does(done: LexicalStudy, tmp_path: Path) -> None:
    parts = [FewPart(TESTED, (2,), 1, seed) for seed in (0, 1)]
    kept = PartsFolder(tmp_path, "code")
    both = make_parts(WEB, kept, parts, jobs=2)
    alone = few_examples(experiment.laboratory(WEB), TESTED, (2,), draws=1, seed=1)
    assert FewPart.read(both[1]) == alone


def test_a_part_that_fails_says_so(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match=r"Nowhere · few examples failed: .*Nowhere"):
        make_parts(WEB, PartsFolder(tmp_path, "code"), [FewPart("Nowhere", (2,), 1, 0)], jobs=1)


def test_crawls_are_compared_early_and_at_the_end(done: LexicalStudy) -> None:
    assert ends(done) == [12]
    assert ends(replace(done, plan=replace(PLAN, pages=400))) == [100, 400]


def test_the_command_writes_the_page(done: LexicalStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[LexicalPlan] = []

    def run(plan: LexicalPlan, folder: Path, **rest: object) -> LexicalStudy:
        plans.append(plan)
        return done

    monkeypatch.setattr("studies.__main__.run_lexical_study", run)
    arguments = ["lexical", "--web", WEB, "--topics", TESTED, "--others", OTHER, "--out", str(tmp_path / "docs" / "it")]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "docs" / "it.md").read_text().startswith("# The lexical method: a study\n")
    assert (plans[0].topics, plans[0].others, plans[0].runs, plans[0].pages) == ((TESTED,), (OTHER,), 5, 400)


def test_wrong_input_says_so(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="--runs"):
        replace(PLAN, runs=0)
    with pytest.raises(ForagerError, match="among --topics and --others"):
        replace(PLAN, others=(TESTED,))
    with pytest.raises(ForagerError, match="--jobs"):
        run_lexical_study(PLAN, tmp_path, jobs=0)
    with pytest.raises(ForagerError, match="Nowhere"):
        run_lexical_study(replace(PLAN, topics=("Nowhere",)), tmp_path)
