"""The study of the apprentice: its arithmetic by hand, no leak between the halves, all of it on a small made web."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studies.__main__ import app
from studies.apprentice import losses
from studies.apprentice.crawl_sections import batches
from studies.apprentice.crawls import (
    CrawledPages,
    CrawlInstances,
    FrozenStrategy,
    OneScoreCritic,
    crawl,
    gather,
    random_half,
    split_by_target,
    trained,
)
from studies.apprentice.offline import (
    OFFSETS,
    WindowFeatures,
    accuracy,
    gains,
    information_gain,
    kept,
    leaves_around,
    shuffled,
)
from studies.apprentice.page import write_apprentice_page
from studies.apprentice.set_ups import (
    BASELINE,
    HALVED,
    ONLINE,
    RAW,
    RECALL,
    STEERED,
    SWITCHED,
    VARIANTS,
    ApprenticePlan,
    SetUp,
    TopicRun,
    planned_crawls,
)
from studies.apprentice.study import ApprenticeStudy, TopicRunCrawler, half_of, run_apprentice_study
from studies.kept_parts import PartsFolder
from typer.testing import CliRunner

from forager.errors import ForagerError
from forager.registry import Spec
from forager.strategies.apprentice.strategy import Apprentice
from forager.types import Judgement, Learns, Page, Ragged, Rescores, Url
from forager_lab import experiment
from forager_lab.protocol import topic_trial
from tests.small_web import WordCritic
from tests.visits import page_of, visit_of

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


def crawled(relevant: str, urls: str = "", expected: list[float] | None = None) -> CrawledPages:
    """By truth, a letter a page: + or -."""
    names = urls or "".join(chr(ord("a") + at) for at in range(len(relevant)))
    scores = np.array(expected if expected is not None else [0.5] * len(relevant), np.float32)
    nothing = np.empty(0, np.float32)
    order = tuple(Url(f"http://x.test/{name}") for name in names)
    return CrawledPages(order, np.array([mark == "+" for mark in relevant]), scores, scores, nothing, nothing)


# ---- arithmetic -----------------------------------------------------------------------------------------------------


def test_information_gain_by_hand() -> None:
    """4 high, 4 low. A feature in all high ones and no others tells all: 1 bit. One in 2 and 2 tells nothing. One in 2
    high ones only: H = 1, with it 0, without it (2 high, 4 low) H(1/3) = .9183 in 6 of 8: gain 1 - .6887."""
    found = information_gain(np.array([4.0, 2.0, 2.0]), np.array([0.0, 2.0, 0.0]), 4, 4)
    assert found == pytest.approx([1.0, 0.0, 1 - 0.75 * 0.9182958], abs=1e-6)


def test_gain_at_an_offset_counts_a_word_once_an_instance_and_needs_five() -> None:
    """Word 1 at offset 0 of the five high ones, twice in the first; word 2 at offset 1 of four: too few to count."""
    words = Ragged.of([[1, 1, 2], [1, 2], [1, 2], [1, 2], [1], [3], [3], [3], [3], [3]])
    offsets = np.array([0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0], np.int32)
    high = np.arange(10) < 5
    found = gains(WindowFeatures(offsets, {"words": words}), high)
    at = OFFSETS.index(0)
    assert found["features"][at] == 2  # words 1 and 3
    assert found["sum"][at] == pytest.approx(2.0)
    assert found["mean"][at] == pytest.approx(1.0)
    assert found["features"][at + 1] == found["sum"][at + 1] == found["mean"][at + 1] == 0


def test_accuracy_by_hand() -> None:
    """Feature 1 was seen in high ones, 2 in low ones. Of the tested, a high one has 2 and is told wrong."""
    learnt = [([1], 1.0)] * 6 + [([2], 0.0)] * 6
    tested = [([1], 0.9), ([2], 0.8), ([2], 0.1), ([2], 0.2), ([1], 0.0)]
    clues = Ragged.of([row for row, _ in learnt + tested])
    relevance = np.array([score for _, score in learnt + tested], np.float32)
    found = accuracy(clues, relevance, np.arange(len(relevance)) < 12)
    assert found is not None
    assert (found.negative, found.positive, found.all) == pytest.approx((2 / 3, 1 / 2, 3 / 5))


def test_accuracy_needs_both_kinds() -> None:
    clues, learnt = Ragged.of([[1]] * 20), np.arange(20) < 10
    assert accuracy(clues, np.zeros(20, np.float32), learnt) is None
    assert accuracy(clues, np.array([0, 1] * 5 + [0] * 10, np.float32), learnt) is None


def test_rows_lose_the_values_that_are_not_wanted() -> None:
    rows = kept(Ragged.of([[1, 2], [], [3], [4, 5, 6]]), np.array([1, 0, 0, 1, 0, 1], bool))
    assert [rows[at].tolist() for at in range(4)] == [[1], [], [], [4, 6]]


def test_buckets_dealt_anew_belong_to_targets() -> None:
    targets = np.repeat(np.arange(50), 4)
    high = targets < 20
    anew = shuffled(high, targets, seed=1)
    assert anew.sum() == high.sum()
    assert (anew != high).any()
    assert all(len(set(anew[targets == each].tolist())) == 1 for each in range(50))


def test_words_and_elements_around_a_link() -> None:
    """Leaves: "one two", img, "a", the link "go", "after that", br."""
    page = page_of("http://x.test/", "<p>one two<img src=i><b>a</b><a href=/v>go</a>after that<br></p>")
    visit = visit_of(page)
    alone = CrawlInstances([visit], np.array([0]), np.array([0]), np.array([0]))
    found = leaves_around(alone)
    at = {d: OFFSETS.index(d) for d in OFFSETS}
    assert [found["mass"][at[d]] for d in (-3, -2, -1, 0, 1, 2)] == pytest.approx([2 / 6, 0, 1 / 6, 1 / 6, 2 / 6, 0])
    assert [found["wordless"][at[d]] for d in (-3, -2, -1, 1, 2)] == [0, 1, 0, 0, 1]
    assert found["tags"]["b"][at[-1]] == found["tags"]["img"][at[-2]] == 1
    assert found["tags"]["p"][at[0]] == 0


def test_loss_counts_only_pages_that_were_not_learnt_from() -> None:
    """a+ b- c- d+ e-: of the first four 2 are lost; without a and b 1 of 2."""
    found = crawled("+--+-", expected=[1.0, 0.5, 0.25, 1.0, 0.0])
    learnt_from = frozenset({Url("http://x.test/a"), Url("http://x.test/b")})
    assert losses.loss(found, 4, "truth") == 0.5
    assert losses.loss(found, 4, "truth", learnt_from) == 0.5
    assert losses.loss(found, 5, "truth", learnt_from) == pytest.approx(2 / 3)
    assert losses.loss(found, 4, "critic") == pytest.approx(1.25 / 4)
    assert losses.loss(found, 4, "critic", learnt_from) == pytest.approx(0.75 / 2)
    assert losses.loss(found, 6, "truth") is None
    assert losses.loss(found, 2, "truth", learnt_from) is None


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
    assert losses.reduction_of(study, "t", ONLINE, 4, "truth", most=2).half == pytest.approx(0.0)


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
    counted = losses.counted(ours, done.halves[0])
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
    frozen = trained(crawler.lab, crawler.classroom(USUAL.labels), Spec("apprentice"), lesson)
    assert isinstance(frozen, FrozenStrategy)
    assert not isinstance(frozen, Learns | Rescores)
    fresh = Apprentice(classes=crawler.trial.critic.classes)
    visit = lesson.visits[0]
    assert len(np.unique(fresh.score(visit).scores)) == 1  # the baseline: all links of a page alike
    assert len(np.unique(frozen.score(visit).scores)) > 1
    assert (frozen.score(visit).scores == frozen.score(visit).scores).all()


def test_what_does_not_learn_cannot_be_trained(crawler: TopicRunCrawler) -> None:
    with pytest.raises(ForagerError, match="does not learn"):
        trained(crawler.lab, crawler.trial, Spec("best-first"), crawler.instances(USUAL))


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


class HalfSure(WordCritic):
    """Its raw score is always 0."""

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [replace(judgement, raw=0.0) for judgement in super().judge(pages)]


# ---- all of it ------------------------------------------------------------------------------------------------------


def test_every_section_is_on_the_page_and_the_same_each_time(done: ApprenticeStudy, tmp_path: Path) -> None:
    (tmp_path / "apprentice-reading.toml").write_text('fig-6 = "The window matters."\nsummary = "Less is lost."\n')
    written = []
    for _ in range(2):
        page = write_apprentice_page(done, tmp_path / "apprentice")
        written.append({path.name: path.read_bytes() for path in [page, *(tmp_path / "apprentice").iterdir()]})
    assert written[0] == written[1]
    text = page.read_text()
    for title in ("Loss reduction", *(f"Fig. {n}:" for n in range(4, 14)), "Figs. 13b, 14:", "§3.7:", "§3.8:"):
        assert f"\n## {title}" in text
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
        assert base.strategy.options["combine"] == SetUp(str(each.strategy)).policy
        assert base.pages >= each.pages
    assert PLAN.baseline_of(ONLINE) == BASELINE
    assert PLAN.baseline_of(STEERED) == f"{BASELINE}, noisy-or"
    assert PLAN.baseline_of(f"{HALVED}, printed, first, raw") == f"{BASELINE}, first, raw"
    assert PLAN.baseline_of(f"{ONLINE}, printed, best, raw") == f"{BASELINE}, {RAW}"
    assert SetUp("apprentice").policy == "first"
    assert SetUp("apprentice:form=sum").policy == "best"


def test_with_raw_labels_both_sides_go_by_raw_scores(crawler: TopicRunCrawler, done: ApprenticeStudy) -> None:
    for name in (f"{BASELINE}, raw", f"{BASELINE}, first, raw", f"{ONLINE}, printed, first, raw"):
        crawled = done.crawls["Business", 0, name]
        assert np.array_equal(crawled.expected, crawled.raw)
    usual = done.crawls["Business", 0, BASELINE]
    assert not np.array_equal(usual.expected, usual.raw)  # it steers by the calibrated score, and keeps both
    pages = [page for page in crawler.lab.pages(usual.order[:5]) if page is not None]
    assert usual.raw[:5].tolist() == [np.float32(each.raw) for each in crawler.trial.critic.judge(pages)]


def test_every_course_is_told_at_the_same_horizons(done: ApprenticeStudy, tmp_path: Path) -> None:
    text = write_apprentice_page(done, tmp_path / "apprentice").read_text()
    for title in ("beforehand", "undivided", "online", "steered", "batch 300", "+ cocitation"):
        (head,) = [line for line in text.splitlines() if line.startswith(f"| **{title}")]
        for by in ("truth", "critic"):
            assert f"| {by} at R/4 | at R/2 | at R |" in head
    for name in VARIANTS:
        assert f"| **{name}: beforehand**" in text
        assert f"| **{name}: online**" in text


def test_small_topics_have_no_variants_that_need_time(done: ApprenticeStudy) -> None:
    large, small = (
        {planned.name for planned in planned_crawls(PLAN, TopicRun(topic, 0, size))}
        for topic, size in done.sizes.items()
    )
    assert done.sizes["Business"] > PLAN.large >= done.sizes["Business.Finance"]
    assert {"batch-300", "cocitation"} <= large
    assert small < large
    assert RECALL not in {
        planned.name for planned in planned_crawls(PLAN, TopicRun("Business", 1, 34))
    }  # not a side run
    variants = batches(done).table
    assert "| Business |" in variants
    assert "Finance" not in variants


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
    raw, calibrated = gather(crawler.lab, trial, order), gather(crawler.lab, crawler.classroom(USUAL.labels), order)
    judged = trial.critic.judge([visit.page for visit in raw.visits])
    assert raw.relevance.tolist() == [np.float32(judged[at].raw) for at in raw.targets.tolist()]
    assert calibrated.relevance.tolist() == [np.float32(judged[at].relevance) for at in raw.targets.tolist()]
    assert half_of(crawler.lab, PLAN, 0) == done.halves[0]


def test_a_crawl_keeps_what_the_critic_said(crawler: TopicRunCrawler) -> None:
    found = crawl(crawler.lab, crawler.trial, Apprentice(), 10)
    assert len(found.order) == len(found.expected) == len(found.raw) == 10
    assert found.order[0] in crawler.trial.seeds
    assert len(found.before) == 0
