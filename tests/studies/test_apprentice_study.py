"""The study of the apprentice: its arithmetic by hand, no leak between the halves, all of it on a small made web."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.__main__ import app
from studies.apprentice import losses
from studies.apprentice.courses import MAIN, RECALLING_PRINTED, SWITCHING
from studies.apprentice.crawl_sections import batches
from studies.apprentice.crawls import (
    CrawledPages,
    FrozenStrategy,
    OneScoreCritic,
    crawl,
    gather,
    primed,
    random_half,
    split_by_target,
    taught_by,
)
from studies.apprentice.critics import SAMPLED, category, class_sample, taught_graph
from studies.apprentice.losses import EVERY, HALF_B, NEW, NEW_B
from studies.apprentice.page import write_apprentice_page
from studies.apprentice.set_ups import (
    BASELINE,
    BEST_RAW,
    FIRST_RAW,
    GRAPH,
    HALVED,
    LAYERS,
    ONLINE,
    PRIMED,
    PRIMED_ELSEWHERE,
    RAW,
    RECALL,
    STEERED,
    SWITCHED,
    TAXONOMY,
    ApprenticePlan,
    SetUp,
    TopicRun,
    planned_crawls,
    variants,
)
from studies.apprentice.study import ApprenticeStudy, TopicRunCrawler, half_of, run_apprentice_study
from studies.kept_parts import PartsFolder
from typer.testing import CliRunner

from forager.errors import ForagerError
from forager.learn.focus import below
from forager.registry import Spec
from forager.strategies.apprentice.features import LinkContext
from forager.strategies.apprentice.strategy import Apprentice
from forager.types import Judgement, Learns, Page, Rescores, Url, WeighsWords
from forager_lab import experiment
from forager_lab.protocol import topic_trial
from tests.small_web import WordCritic
from tests.visits import page_of

WEB = "procedural:hosts=6:pages_per_host=25:links=12:length=2000"
PLAN = ApprenticePlan(WEB, ("Business", "Business.Finance"), runs=2, side_runs=1, large=20, instances=300, splits=1)
UNITS = 4  # two topics, two runs
USUAL = SetUp(PLAN.apprentice)


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def done(folder: Path) -> ApprenticeStudy:
    return run_apprentice_study(PLAN, folder)


@pytest.fixture(scope="module")
def crawler(done: ApprenticeStudy) -> TopicRunCrawler:
    """The first run of the larger topic."""
    baseline = done.crawls["Business", 0, BASELINE]
    return TopicRunCrawler(
        PLAN, TopicRun("Business", 0, done.sizes["Business"]), experiment.laboratory(WEB), {BASELINE: baseline}
    )


def crawled(relevant: str, urls: str = "", expected: list[float] | None = None, sampled: str = "") -> CrawledPages:
    """By truth, a letter a page: + or -. `sampled`: the pages that a critic has learnt from."""
    names = urls or "".join(chr(ord("a") + at) for at in range(len(relevant)))
    scores = np.array(expected if expected is not None else [0.5] * len(relevant), np.float32)
    nothing, none = np.empty(0, np.float32), np.empty(0, bool)
    order = tuple(Url(f"http://x.test/{name}") for name in names)
    taught = np.array([name in sampled for name in names], bool)
    good = np.array([mark == "+" for mark in relevant])
    return CrawledPages(order, good, scores, scores, taught, nothing, nothing, none)


# ---- losses ---------------------------------------------------------------------------------------------------------


def test_loss_counts_only_pages_that_were_not_learnt_from() -> None:
    """a+ b- c- d+ e-: of the first four 2 are lost; without a and b 1 of 2."""
    found = crawled("+--+-", expected=[1.0, 0.5, 0.25, 1.0, 0.0], sampled="d")
    half = frozenset({Url("http://x.test/a"), Url("http://x.test/b")})
    every, half_b, new, new_b = (counting(found, half) for counting in (EVERY, HALF_B, NEW, NEW_B))
    assert losses.loss(found, 4, "truth", every) == 0.5
    assert losses.loss(found, 4, "truth", half_b) == 0.5
    assert losses.loss(found, 5, "truth", half_b) == pytest.approx(2 / 3)
    assert losses.loss(found, 4, "critic", every) == pytest.approx(1.25 / 4)
    assert losses.loss(found, 4, "critic", half_b) == pytest.approx(0.75 / 2)
    assert losses.loss(found, 5, "truth", new) == pytest.approx(3 / 4)
    assert losses.loss(found, 5, "truth", new_b) == 1.0
    assert losses.loss(found, 6, "truth", every) is None
    assert losses.loss(found, 2, "truth", half_b) is None


def test_reduction_overlap_and_slope() -> None:
    assert losses.reduction(0.3, 0.4) == pytest.approx(0.25)
    assert losses.reduction(0.3, 0.0) is None
    assert losses.reduction(None, 0.4) is None
    ours, theirs = crawled("++++", "abxy"), crawled("----", "bayz")
    assert [losses.overlap(ours, theirs, n) for n in (1, 2, 3, 4)] == pytest.approx([0, 1, 2 / 3, 3 / 4])
    assert [losses.union_overlap(ours, theirs, n) for n in (1, 2, 3, 4)] == pytest.approx([0, 1, 2 / 4, 3 / 5])
    assert losses.slope(crawled("+--+--"), 1, 4, "truth") == pytest.approx(2 / 3)
    assert losses.slope(crawled("+--"), 1, 4, "truth") is None


def made_study(*pairs: tuple[str, str]) -> ApprenticeStudy:
    """A topic of 4 pages; in each run a baseline and an online crawl, a letter a page."""
    crawls = {
        ("t", run, name): crawled(marks)
        for run, pair in enumerate(pairs)
        for name, marks in zip((BASELINE, ONLINE), pair, strict=True)
    }
    plan = ApprenticePlan(WEB, ("t",), runs=len(pairs))
    return ApprenticeStudy(plan, "w", {"t": 4}, crawls, {}, [frozenset()] * len(pairs), {}, 0)


def test_reduction_is_the_mean_of_the_runs() -> None:
    """Losses 2/4 against 4/4 and 1/4 against 2/4: a half each; without the first run only the second counts."""
    study = made_study(("----", "++--"), ("++--", "+++-"), ("----", "+---"))
    assert losses.reduction_of(study, "t", ONLINE, 4, "truth").value == pytest.approx((0.5 + 0.5 + 0.25) / 3)
    assert losses.reduction_of(study, "t", ONLINE, 4, "truth", first=1).value == pytest.approx((0.5 + 0.25) / 2)
    assert losses.reduction_of(study, "t", ONLINE, 4, "truth", first=1).half == pytest.approx(12.706 * 0.125, rel=1e-3)


def test_where_a_baseline_lost_nothing_the_mean_losses_are_compared() -> None:
    """Mean losses (1/4 + 1/4)/2 against (0 + 1)/2."""
    found = losses.reduction_of(made_study(("++++", "+++-"), ("----", "+++-")), "t", ONLINE, 4, "truth")
    assert found.value == pytest.approx(0.5)
    assert (found.half, found.of_means) == (None, True)
    nothing = losses.reduction_of(made_study(("++++", "+++-")), "t", ONLINE, 4, "truth")
    assert nothing.value is None


# ---- no leak --------------------------------------------------------------------------------------------------------


def test_halves_are_of_equal_size_and_differ_by_run() -> None:
    urls = [Url(f"http://x.test/{at}") for at in range(101)]
    halves = [random_half(urls, 0, run) for run in (0, 1)]
    assert [len(each) for each in halves] == [50, 50]
    assert halves[0] != halves[1]
    assert random_half(urls, 0, 0) == halves[0]


def test_no_target_is_on_both_sides_of_a_split(crawler: TopicRunCrawler) -> None:
    instances = crawler.instances(USUAL)
    learnt = split_by_target(instances, seed=3)
    assert 0 < learnt.sum() < len(instances)
    assert not {*instances.targets[learnt].tolist()} & {*instances.targets[~learnt].tolist()}


def test_no_page_learnt_from_is_counted(crawler: TopicRunCrawler, done: ApprenticeStudy) -> None:
    lesson = crawler.of_half(crawler.instances(USUAL))
    learnt_from = {lesson.visits[at].page.url for at in lesson.targets.tolist()}
    ours = done.crawls["Business", 0, HALVED]
    counted = HALF_B(ours, done.halves[0])
    assert learnt_from <= done.halves[0]
    assert 0 < counted.sum() < len(ours.order)
    assert not learnt_from & {url for url, counts in zip(ours.order, counted.tolist(), strict=True) if counts}
    assert 0 < len(lesson) < len(crawler.instances(USUAL))


def test_instances_are_the_links_with_both_ends_fetched(crawler: TopicRunCrawler, done: ApprenticeStudy) -> None:
    """By brute force, redirects followed."""
    lab, order = experiment.laboratory(WEB), done.crawls["Business", 0, BASELINE].order
    fetched = {*order}
    pages = [page for page in lab.pages(order) if page is not None]
    wanted = [(page.url, lab.web.final(url)) for page in pages for url in page.links.targets]
    wanted = [(source, target) for source, target in wanted if target in fetched]
    instances = crawler.instances(USUAL)
    url = [visit.page.url for visit in instances.visits]
    found = [(url[u], url[v]) for u, v in zip(instances.sources.tolist(), instances.targets.tolist(), strict=True)]
    assert found == wanted
    for source, link, target in zip(instances.sources, instances.links, instances.targets, strict=True):
        known = instances.visits[source].known.relevance[link]
        assert np.isnan(known) == (target >= source)  # what was fetched before the page is known to it


def test_the_recall_crawler_stays_within_the_baseline(done: ApprenticeStudy) -> None:
    size = done.sizes["Business"]
    ours, theirs = done.crawls["Business", 0, RECALL], done.crawls["Business", 0, BASELINE]
    assert {*ours.order} <= {*theirs.order[:size]}
    assert len(ours.order) > size / 2


# ---- crawls ---------------------------------------------------------------------------------------------------------


def test_trained_beforehand_is_trained_and_learns_no_more(crawler: TopicRunCrawler) -> None:
    lesson = crawler.of_half(crawler.instances(USUAL))
    frozen = FrozenStrategy(taught_by(crawler.lab, crawler.classroom(USUAL), Spec("apprentice"), lesson))
    assert not isinstance(frozen, Learns | Rescores)
    fresh = Apprentice(classes=crawler.trial.critic.classes)
    visit = lesson.visits[0]
    assert len(np.unique(fresh.score(visit).scores)) == 1  # the baseline: all links of a page alike
    assert len(np.unique(frozen.score(visit).scores)) > 1
    assert (frozen.score(visit).scores == frozen.score(visit).scores).all()


def test_a_window_is_chosen_beforehand_too(crawler: TopicRunCrawler) -> None:
    """Of two batches the second is tried before it is learnt."""
    room, instances = crawler.classroom(USUAL), crawler.instances(USUAL)
    chooses = taught_by(crawler.lab, room, Spec("apprentice", {"choose_window": True}), instances)
    assert isinstance(chooses, Apprentice)
    assert 0 < chooses.parts()["windows_seen"].sum() < len(instances)
    assert chooses.parts()["pages"] == 0  # nothing waits to be learnt
    assert chooses.parts()["instances"].sum() == len(instances)


def test_what_does_not_learn_cannot_be_trained(crawler: TopicRunCrawler) -> None:
    with pytest.raises(ForagerError, match="does not learn"):
        taught_by(crawler.lab, crawler.trial, Spec("best-first"), crawler.instances(USUAL))


def test_before_it_is_switched_on_the_crawl_is_the_baseline(done: ApprenticeStudy) -> None:
    start = done.sizes["Business"] // 2
    ours, theirs = done.crawls["Business", 0, SWITCHED], done.crawls["Business", 0, BASELINE]
    assert ours.order[:start] == theirs.order[:start]
    assert len(ours.before) == len(ours.after) > 0


def test_the_critic_teaches_what_it_steers_by() -> None:
    page = page_of("http://x.test/", "<p>bird bird cat dog</p>")
    for score, told in (("calibrated", 0.5), ("raw", 0.0)):
        critic = OneScoreCritic(HalfSure(), score)  # type: ignore[arg-type]
        judgement = critic.judge([page])[0]
        assert (judgement.raw, judgement.relevance) == (told, told)
    assert (critic.classes, critic.focus, critic.version) == (WordCritic.classes, WordCritic.focus, WordCritic.version)


def test_it_weighs_words_as_the_critic_behind_it_does(crawler: TopicRunCrawler) -> None:
    page = crawler.instances(USUAL).visits[0].page
    plain, weighing = crawler.trial.critic, crawler.classroom(USUAL).critic
    assert isinstance(plain, WeighsWords)
    assert isinstance(weighing, WeighsWords)
    odds = weighing.word_log_odds(page.terms.values)
    assert np.array_equal(odds, plain.word_log_odds(page.terms.values))
    assert odds.any()
    silent = OneScoreCritic(WordCritic(), "raw")
    assert not silent.word_log_odds(page.terms.values).any()


class HalfSure(WordCritic):
    """Its raw score is always 0."""

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [replace(judgement, raw=0.0) for judgement in super().judge(pages)]


# ---- critics with many classes and layers ---------------------------------------------------------------------------


def test_a_page_has_one_category() -> None:
    assert category(("People.Artists", "Art.Painting", "Art.Film"), "Art") == "Art.Painting"
    assert category(("People.Artists", "Art.Painting"), "Music") == "People.Artists"
    assert category((), "Art") == "none"


def test_the_sample_of_classes_is_small_and_keeps_the_topic(crawler: TopicRunCrawler) -> None:
    lab, truth = crawler.lab, crawler.lab.web.truth.labels
    for topic in PLAN.topics:
        sample = class_sample(lab, topic, seed=0)
        sizes = Counter(sample.values())
        assert max(sizes.values()) <= SAMPLED
        assert len(sizes) > 2
        inside = {url for url, name in sample.items() if below(name, topic)}
        assert inside
        assert inside == {url for url in sample if any(below(label, topic) for label in truth[url])}
        assert class_sample(lab, topic, seed=1) != sample


def test_relevance_is_the_sum_over_the_classes_of_the_topic() -> None:
    web = "procedural:hosts=30:pages_per_host=30:links=12:length=2000"
    crawler = TopicRunCrawler(replace(PLAN, web=web), TopicRun("Business", 0, 100), experiment.laboratory(web), {})
    critic = crawler.classroom(replace(USUAL, critic="taxonomy")).critic
    inside = np.array([below(name, "Business") for name in critic.classes])
    assert 1 < inside.sum() < len(critic.classes) / 2
    pages = [page for page in crawler.lab.pages(list(crawler.lab.web.truth.labels)[:20]) if page is not None]
    for told in critic.judge(pages):
        assert told.relevance == pytest.approx(told.topics[inside].sum(), abs=1e-5)
        assert told.topics.sum() == pytest.approx(1, abs=1e-5)


def test_pages_that_a_critic_learnt_from_do_not_count(crawler: TopicRunCrawler, done: ApprenticeStudy) -> None:
    """By brute force: neither those of the usual critic nor those of the one with many classes."""
    usual = topic_trial(crawler.lab, "Business", Spec("naive-bayes"), run=0, seed=0).trained
    learnt_from = usual.union(class_sample(crawler.lab, "Business", seed=0))
    for name in (ONLINE, f"{ONLINE}, {TAXONOMY}"):
        found = done.crawls["Business", 0, name]
        counted = {url for url, counts in zip(found.order, NEW(found, frozenset()).tolist(), strict=True) if counts}
        assert counted == {*found.order} - learnt_from
        assert 0 < len(counted) < len(found.order)


def test_the_context_graph_sees_half_a_only_and_no_label(crawler: TopicRunCrawler, monkeypatch: Any) -> None:
    read: set[Url] = set()
    pages, half = crawler.lab.pages, half_of(crawler.lab, PLAN, 0)

    def reading(urls: Sequence[Url]) -> Iterator[Page | None]:
        read.update(urls)
        return pages(urls)

    monkeypatch.setattr(crawler.lab, "pages", reading)
    blind = replace(crawler.trial, relevant=frozenset())
    graph = taught_graph(crawler.lab, blind, half)
    assert read == half
    layers = {graph.layer(page)[0] for page in pages(sorted(half)) if page is not None}
    assert len(layers) > 1


def test_layers_are_further_classes_that_leave_relevance_alone(crawler: TopicRunCrawler) -> None:
    plain, layered = (crawler.classroom(each).critic for each in (USUAL, replace(USUAL, critic="layers")))
    assert layered.classes[: len(plain.classes)] == plain.classes
    assert layered.classes[-1] == "layer.5"
    page = crawler.instances(USUAL).visits[0].page
    (one,), (other,) = plain.judge([page]), layered.judge([page])
    assert (one.relevance, one.raw) == (other.relevance, other.raw)
    layer, confidence = crawler.graph.layer(page)
    assert other.topics[len(plain.classes) :].tolist() == [np.float32(confidence) * (at == layer) for at in range(6)]
    around = LinkContext(classes=layered.classes, vector=True)
    seen = replace(crawler.instances(USUAL).visits[0], judgement=other)
    assert any(name.startswith(f"topic layer.{layer} at") for name in around.names(seen, 0))


# ---- a prior --------------------------------------------------------------------------------------------------------


def test_a_primed_apprentice_begins_with_what_was_learnt_and_goes_on(crawler: TopicRunCrawler) -> None:
    spec, room = Spec("apprentice"), crawler.classroom(USUAL)
    earlier = taught_by(crawler.lab, room, spec, crawler.of_half(crawler.instances(USUAL)))
    begun = primed(crawler.lab, room, spec, earlier)
    visit = crawler.instances(USUAL).visits[0]
    assert np.array_equal(begun.score(visit).scores, earlier.score(visit).scores)
    assert isinstance(begun, Apprentice)
    assert begun.every == Apprentice().every  # its own batches, not the one it was taught in
    learnt = begun.parts()["instances"].sum()
    crawl(crawler.lab, room, begun, 110)
    assert begun.parts()["instances"].sum() > learnt > 50
    with pytest.raises(ForagerError, match="cannot keep"):
        primed(crawler.lab, room, Spec("best-first"), earlier)


def test_a_prior_from_elsewhere_is_of_another_topic(crawler: TopicRunCrawler, done: ApprenticeStudy) -> None:
    assert [PLAN.other_topic(topic) for topic in PLAN.topics] == ["Business.Finance", "Business"]
    planned = {each.name: each for each in planned_crawls(PLAN, TopicRun("Business", 0, done.sizes["Business"]))}
    assert (planned[PRIMED].taught, planned[PRIMED].learns_on) == ("half", True)
    assert planned[PRIMED_ELSEWHERE].taught == "another topic"
    earlier = crawler._elsewhere(replace(planned[PRIMED_ELSEWHERE], options={"batch": 5}))
    assert isinstance(earlier, Apprentice)
    assert earlier.parts()["instances"] > 20
    alone = replace(PLAN, topics=("Business",))
    assert PRIMED_ELSEWHERE not in {each.name for each in planned_crawls(alone, TopicRun("Business", 0, 34))}


# ---- all of it ------------------------------------------------------------------------------------------------------


def test_every_section_is_on_the_page_and_the_same_each_time(done: ApprenticeStudy, tmp_path: Path) -> None:
    (tmp_path / "apprentice-reading.toml").write_text('fig-6 = "The window matters."\nsummary = "Less is lost."\n')
    written = []
    for _ in range(2):
        page = write_apprentice_page(done, tmp_path / "apprentice")
        written.append({path.name: path.read_bytes() for path in [page, *(tmp_path / "apprentice").iterdir()]})
    assert written[0] == written[1]
    text = page.read_text()
    titles = ["Claim by claim", "Loss reduction", *(f"Fig. {n}:" for n in range(4, 14)), "Figs. 13b, 14:", "§3.7:"]
    titles += ["§2.2.3, §3.8:", "§2.2:", "§1.2:", "§2.3, §3.4:", "Other learners"]
    places = [text.index(f"\n## {title}") for title in titles]
    assert places == sorted(places)
    assert "*Here*: The window matters." in text
    pictures = re.findall(r"\]\((apprentice/.*\.svg)\)", text)
    assert len(pictures) == len(set(pictures)) == len(list((tmp_path / "apprentice").iterdir()))
    assert all((tmp_path / name).is_file() for name in pictures)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):  # every row is as long as its head
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_a_reading_of_no_section_is_refused(done: ApprenticeStudy, tmp_path: Path) -> None:
    (tmp_path / "apprentice-reading.toml").write_text('fig-66 = "?"\n')
    with pytest.raises(ForagerError, match="fig-66"):
        write_apprentice_page(done, tmp_path / "apprentice")


def test_every_crawl_has_a_baseline_of_its_own_policy_and_scores(done: ApprenticeStudy) -> None:
    planned = {each.name: each for each in planned_crawls(PLAN, TopicRun("Business", 0, done.sizes["Business"]))}
    for name, each in planned.items():
        base = planned[name if each.strategy.name == BASELINE else PLAN.baseline_of(name)]
        assert (base.strategy.name, base.set_up.labels) == (BASELINE, each.set_up.labels)
        assert (base.set_up.critic == TAXONOMY) == (each.set_up.critic == TAXONOMY)
        assert base.strategy.options["combine"] == SetUp(str(each.strategy)).policy
        assert base.pages >= each.pages
    assert PLAN.baseline_of(ONLINE) == BASELINE
    assert PLAN.baseline_of(STEERED) == f"{BASELINE}, noisy-or"
    assert PLAN.baseline_of(f"{HALVED}, {FIRST_RAW}") == f"{BASELINE}, first, raw"
    assert PLAN.baseline_of(f"{ONLINE}, {BEST_RAW}") == f"{BASELINE}, {RAW}"
    assert PLAN.baseline_of(f"{ONLINE}, {TAXONOMY}, vector") == f"{BASELINE}, {TAXONOMY}"
    assert PLAN.baseline_of(f"{HALVED}, {LAYERS}") == PLAN.baseline_of(GRAPH) == BASELINE
    assert SetUp("apprentice").policy == "first"
    assert SetUp("apprentice:form=sum").policy == "best"


def test_with_raw_labels_both_sides_go_by_raw_scores(crawler: TopicRunCrawler, done: ApprenticeStudy) -> None:
    for name in (f"{BASELINE}, raw", f"{BASELINE}, first, raw", f"{ONLINE}, {FIRST_RAW}"):
        crawled = done.crawls["Business", 0, name]
        assert np.array_equal(crawled.expected, crawled.raw)
    usual = done.crawls["Business", 0, BASELINE]
    assert not np.array_equal(usual.expected, usual.raw)  # it steers by the calibrated score, and keeps both
    pages = [page for page in crawler.lab.pages(usual.order[:5]) if page is not None]
    assert usual.raw[:5].tolist() == [np.float32(each.raw) for each in crawler.trial.critic.judge(pages)]


def test_every_course_is_told_at_the_same_horizons(done: ApprenticeStudy, tmp_path: Path) -> None:
    text = write_apprentice_page(done, tmp_path / "apprentice").read_text()
    titles = [course.title for course in (*MAIN, RECALLING_PRINTED, SWITCHING)]
    titles += [f"{name}: {how}" for name in variants(PLAN.apprentice) for how in ("beforehand", "online")]
    titles += ["batch 300", "the taxonomy: + vector, beforehand", "two classes: + co-citation, online"]
    titles += ["another topic, all pages", "half A, goes on learning, half B", "words, vector and layers"]
    for title in titles:
        heads = [line for line in text.splitlines() if line.startswith(f"| **{title}**") and "at R/4" in line]
        assert heads, title
        for by in ("truth", "critic"):
            assert all(f"| {by} at R/4 | at R/2 | at R |" in head for head in heads)


def test_small_topics_have_no_variants_that_need_time(done: ApprenticeStudy) -> None:
    large, small = (
        {planned.name for planned in planned_crawls(PLAN, TopicRun(topic, 0, size))}
        for topic, size in done.sizes.items()
    )
    assert done.sizes["Business"] > PLAN.large >= done.sizes["Business.Finance"]
    assert {f"{ONLINE}, batch 300", f"{ONLINE}, cocitation", PRIMED_ELSEWHERE, f"{HALVED}, {LAYERS}"} <= large
    assert small < large
    assert RECALL not in {
        planned.name for planned in planned_crawls(PLAN, TopicRun("Business", 1, 34))
    }  # not a side run
    *_, last = batches(done).table.split("\n\n")
    assert "| Business |" in last
    assert "Finance" not in last


def test_a_rerun_makes_nothing_and_a_lost_part_is_made_again_the_same(done: ApprenticeStudy, folder: Path) -> None:
    assert run_apprentice_study(PLAN, folder).made == 0
    files = sorted(folder.glob("study-*.npz"))
    assert len(files) == sum(done.codes.values())
    lost, damaged = files[0], files[1]
    lost.unlink()
    damaged.write_bytes(damaged.read_bytes()[:100])
    told: list[int] = []
    again = run_apprentice_study(PLAN, folder, tell=lambda units, of, last: told.append(units))
    assert again.made == 2
    assert told[0] >= UNITS - 2
    assert told[-1] == UNITS
    for name, crawl_before in done.crawls.items():
        assert parts_equal(crawl_before, again.crawls[name])
    assert again.offline == done.offline


def parts_equal(one: CrawledPages, other: CrawledPages) -> bool:
    ours, theirs = one.parts(), other.parts()
    return all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_two_processes_make_what_one_does(done: ApprenticeStudy, tmp_path: Path) -> None:
    plan = replace(PLAN, topics=("Business.Finance",))
    again = run_apprentice_study(plan, tmp_path, jobs=2)
    assert all(parts_equal(crawled, done.crawls[name]) for name, crawled in again.crawls.items())
    assert again.offline["Business.Finance"] == done.offline["Business.Finance"]


def test_parts_of_other_code_are_used_unless_fresh(tmp_path: Path) -> None:
    key = {"part": "x"}
    PartsFolder(tmp_path, "old").write(key, crawled("+-").parts())
    used = PartsFolder(tmp_path, "new").read(key)
    assert used is not None
    assert CrawledPages.from_parts(used).order == crawled("+-").order
    assert PartsFolder(tmp_path, "new", fresh=True).read(key) is None
    assert PartsFolder(tmp_path, "old", fresh=True).read(key) is not None


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[ApprenticePlan] = []

    def run(plan: ApprenticePlan, folder: Path, **rest: object) -> ApprenticeStudy:
        plans.append(plan)
        return run_apprentice_study(
            replace(PLAN, topics=plan.topics, runs=1, instances=100, splits=1), tmp_path / "kept"
        )

    monkeypatch.setattr("studies.__main__.run_apprentice_study", run)
    arguments = ["apprentice", "--web", WEB, "--topics", "Business.Finance", "--out", str(tmp_path / "docs" / "it")]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert "\n  if 70 % of the baseline's loss less the apprentice's is above zero" in outcome.output
    assert (tmp_path / "docs" / "it.md").read_text().startswith("# The apprentice: a study\n")
    assert (plans[0].web, plans[0].topics, plans[0].runs) == (WEB, ("Business.Finance",), 5)


def test_wrong_input_says_so(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="--runs"):
        ApprenticePlan(WEB, runs=0)
    with pytest.raises(ForagerError, match="--jobs"):
        run_apprentice_study(PLAN, tmp_path, jobs=0)
    with pytest.raises(ForagerError, match="Nowhere"):
        run_apprentice_study(replace(PLAN, topics=("Nowhere",)), tmp_path)


def test_gathering_is_of_the_critic_of_the_trial(crawler: TopicRunCrawler, done: ApprenticeStudy) -> None:
    """The label is what the learner would be told in a crawl: raw scores, or calibrated ones."""
    trial = topic_trial(crawler.lab, "Business", Spec("naive-bayes"), run=0, seed=0)
    order = done.crawls["Business", 0, BASELINE].order[:20]
    raw, calibrated = gather(crawler.lab, trial, order), gather(crawler.lab, crawler.classroom(USUAL), order)
    judged = trial.critic.judge([visit.page for visit in raw.visits])
    assert raw.relevance.tolist() == [np.float32(judged[at].raw) for at in raw.targets.tolist()]
    assert calibrated.relevance.tolist() == [np.float32(judged[at].relevance) for at in raw.targets.tolist()]
    assert half_of(crawler.lab, PLAN, 0) == done.halves[0]


def test_a_crawl_keeps_what_the_critic_said(crawler: TopicRunCrawler) -> None:
    found = crawl(crawler.lab, crawler.trial, Apprentice(), 10)
    assert len(found.order) == len(found.expected) == len(found.raw) == 10
    assert found.order[0] in crawler.trial.seeds
    assert len(found.before) == 0
