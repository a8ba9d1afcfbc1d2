"""The rivals of the laboratory, each against its formulas computed in the plainest way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from math import log, sqrt

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.types import BEST, Evidence, Inlinks, Miss, Ragged, Reason, ScoredLinks, Url, Visit, WaitingBatch
from forager_lab.oracles import LAB_STRATEGIES
from forager_lab.rivals import RIVALS, DeepDeep, HostBandit, ParentQuality, SleepingBandit, Tres, UrlKeywords
from forager_lab.rivals.deep_deep import q_values
from forager_lab.rivals.ngrams import chances, character_ngrams, step_pairs
from forager_lab.rivals.tres import RewardTree, best_split
from tests.small_web import WordCritic
from tests.visits import page_of, visit_of

NOTHING = Evidence(Ragged.of([]), np.zeros(0, np.float32), np.zeros(0, np.float32))


def page(url: str, *links: tuple[str, str], text: str = "stone") -> str:
    return f"<p>{text}</p><ul>" + "".join(f'<li><a href="{target}">{anchor}</a>' for target, anchor in links) + "</ul>"


def visit(
    url: str, *links: tuple[str, str], relevance: float = 0.0, parents: Inlinks | None = None, text: str = "stone"
) -> Visit:
    return visit_of(page_of(url, page(url, *links, text=text)), relevance, parents=parents)


def followed(scored: ScoredLinks, row: int) -> Inlinks:
    """The trace of a page that was reached by one of the links scored."""
    at = np.array([row])
    clues = scored.clues.take(at) if scored.clues is not None else Ragged.of([[]])
    state = scored.state[at] if scored.state is not None else np.zeros((1, 0), np.float32)
    return Inlinks(np.zeros(1, np.int32), scored.scores[at], state, clues)


def waiting(scored: ScoredLinks) -> WaitingBatch:
    count = len(scored.scores)
    ids = np.arange(count, dtype=np.int32)
    clues = scored.clues if scored.clues is not None else Ragged.of([[]] * count)
    state = scored.state if scored.state is not None else np.zeros((count, 0), np.float32)
    return WaitingBatch(ids, ids * 0, ids * 0, scored.scores, state, clues, Ragged.of([[]] * count))


def miss(url: str, parents: Inlinks) -> Miss:
    return Miss(Url(url), visit_of(page_of(url, ""), parents=parents).trace, Reason.NOT_FOUND)


# ---- the register ---------------------------------------------------------------------------------------------------


def test_rivals_are_not_told_the_truth() -> None:
    assert set(RIVALS) == {"sb", "tres", "deep-deep", "host-bandit", "url-keywords", "parent-quality"}
    assert not set(RIVALS) & set(LAB_STRATEGIES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SleepingBandit(theta=2),
        lambda: HostBandit(lam=-1),
        lambda: DeepDeep(gamma=1),
        lambda: Tres(query=Query.of(["bird"]), critic=WordCritic(), fewest=1),
    ],
)
def test_a_wrong_setting_is_told(make: object) -> None:
    with pytest.raises(ForagerError, match="must"):
        make()  # type: ignore[operator]


# ---- pieces of texts ------------------------------------------------------------------------------------------------


def test_character_pieces_are_the_same_where_texts_share_them_and_once_in_a_row() -> None:
    texts = ["Music", "", "musical", "a", "éé", "xyxyxyx"]
    found = character_ngrams(texts, 2, 4)
    pieces = [{text.lower()[at : at + n] for n in range(2, 5) for at in range(len(text) - n + 1)} for text in texts]
    assert found.lengths.tolist() == [len(each) for each in pieces]
    for one in range(len(texts)):
        for other in range(len(texts)):
            assert len(set(found[one].tolist()) & set(found[other].tolist())) == len(pieces[one] & pieces[other])


def test_no_texts_have_no_pieces() -> None:
    assert len(character_ngrams([], 3, 5)) == 0


def test_the_cosine_of_tag_paths_is_that_of_their_pairs_of_steps() -> None:
    paths = ["html body div#main ul li a", "html body div#main ul li li a", "html body footer a"]

    def cosine(one: str, other: str) -> float:
        bags = [Counter(zip(["", *p.split()], [*p.split(), ""], strict=True)) for p in (one, other)]
        dot = sum(bags[0][pair] * bags[1][pair] for pair in bags[0])
        return dot / sqrt(sum(n * n for n in bags[0].values()) * sum(n * n for n in bags[1].values()))

    for one in paths:
        for other in paths:
            assert step_pairs(one, 1 << 14) @ step_pairs(other, 1 << 14) == pytest.approx(cosine(one, other), abs=1e-5)


def test_chances_depend_on_seed_and_url_and_are_even() -> None:
    urls = [Url(f"http://a.test/{i}") for i in range(2000)]
    drawn = chances(urls, 3)
    assert np.array_equal(drawn, chances(urls, 3))
    assert not np.array_equal(drawn, chances(urls, 4))
    assert 0 <= drawn.min() < 0.01 < 0.99 < drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 0.05


# ---- url-keywords ---------------------------------------------------------------------------------------------------


def test_url_keywords_count_the_keywords_in_the_address() -> None:
    urls = ["/Bird-nest", "/smart%20bird", "/stone", "/n%C3%A9/egg/nest"]
    strategy = UrlKeywords(words=["bird", "Nest", "egg", "art", "né"], weight=0.5)
    scores = strategy.score(visit("http://a.test/", *((url, "x") for url in urls))).scores
    assert scores.tolist() == pytest.approx([0.5 * n / 5 for n in (2, 2, 0, 3)])


def test_url_keywords_take_the_words_of_the_query() -> None:
    assert UrlKeywords(query=Query.of(["old birds"])).keywords == ("old", "birds")
    assert UrlKeywords().score(visit("http://a.test/", ("/x", "x"))).scores.tolist() == [0]


# ---- parent-quality -------------------------------------------------------------------------------------------------


def test_parent_quality_is_the_least_of_the_parents_so_far() -> None:
    strategy, seen = ParentQuality(), dict[str, list[float]]()
    for number, (relevance, targets) in enumerate(
        [(0.8, ["/a", "/b"]), (0.3, ["/b", "/c"]), (0.9, ["/a", "/b", "/c"]), (0.1, ["/c", "/c"])]
    ):
        shown = visit(f"http://a.test/{number}", *((target, "x") for target in targets), relevance=relevance)
        for target in targets:
            seen.setdefault(target, []).append(relevance)
        strategy.observe(shown, NOTHING)
        assert strategy.score(shown).scores.tolist() == pytest.approx([min(seen[target]) for target in targets])


def test_the_first_parent_counts_if_wanted() -> None:
    strategy = ParentQuality(first=True)
    shown = [visit(f"http://a.test/{q}", ("/a", "x"), relevance=q) for q in (0.5, 0.2)]
    for each in shown:
        strategy.observe(each, NOTHING)
    assert strategy.score(shown[1]).scores.tolist() == pytest.approx([0.2])
    assert strategy.combine != ParentQuality().combine != BEST


# ---- sb -------------------------------------------------------------------------------------------------------------

MENU = '<nav id="menu"><a href="/m1">m</a><a href="/m2">m</a></nav>'
MAIN = '<div id="main"><p><a href="/t1">t</a></p><p><a href="/t2">t</a></p></div>'


def menu_and_main(url: str = "http://a.test/", relevance: float = 0.0, parents: Inlinks | None = None) -> Visit:
    return visit_of(page_of(url, MENU + MAIN), relevance, parents=parents)


def bandit_after(pulls: Sequence[tuple[int, bool]], **options: float) -> tuple[SleepingBandit, ScoredLinks]:
    """A bandit that has followed links of the page with menu and main, by row, with these outcomes."""
    strategy = SleepingBandit(**options)  # type: ignore[arg-type]
    strategy.observe(menu_and_main(), NOTHING)
    first = strategy.score(menu_and_main())
    for row, good in pulls:
        strategy.observe(visit("http://a.test/x", relevance=float(good), parents=followed(first, row)), NOTHING)
    return strategy, strategy.score(menu_and_main())


def test_links_with_the_same_tag_path_are_one_arm() -> None:
    strategy, scored = bandit_after([])
    assert scored.state is not None
    assert scored.state[:, 0].tolist() == [0, 0, 1, 1]
    assert set(strategy.arms.values()) == {0, 1}


def test_a_near_path_joins_an_arm_and_moves_its_centroid() -> None:
    strategy = SleepingBandit(theta=0.8)
    near = ["html body ul li a", "html body ul li b a"]  # 5 of 6 and 7 pairs are shared: 5/sqrt(42) = .77
    strategy.observe(
        visit_of(page_of("http://a.test/", "<ul><li><a href=/1>x</a><li><b><a href=/2>x</a></b></ul>")), NOTHING
    )
    assert strategy.arms[near[0]] != strategy.arms[near[1]]
    looser = SleepingBandit(theta=0.75)
    looser.observe(
        visit_of(page_of("http://a.test/", "<ul><li><a href=/1>x</a><li><b><a href=/2>x</a></b></ul>")), NOTHING
    )
    assert looser.arms[near[0]] == looser.arms[near[1]] == 0
    mean = step_pairs(near[0], 1 << 12) + step_pairs(near[1], 1 << 12)
    assert np.allclose(looser._sums[0], mean)


def test_the_upper_confidence_bound_is_that_of_the_paper() -> None:
    pulls = [(0, True), (0, False), (1, False), (2, True), (2, True)]
    strategy, scored = bandit_after(pulls)
    alpha, t = 2 * sqrt(2), 5
    expected = [1 / 3 + alpha * sqrt(log(t) / 3), 2 / 2 + alpha * sqrt(log(t) / 2)]
    assert strategy.bounds()[:2].tolist() == pytest.approx(expected, abs=1e-5)
    assert scored.scores[[0, 2]].tolist() == pytest.approx(expected, abs=2e-3)


def test_an_arm_never_pulled_comes_before_all_that_were() -> None:
    _, scored = bandit_after([(0, True)] * 20)
    assert scored.scores[2] > scored.scores[0]


def test_a_request_without_a_page_is_a_pull_without_reward() -> None:
    strategy, scored = bandit_after([(0, True)])
    strategy.observe(miss("http://a.test/m1", followed(scored, 0)), NOTHING)
    assert strategy.pulls.tolist() == [2, 0]
    assert strategy.rewards.tolist() == [1, 0]


def test_inside_an_arm_the_address_decides() -> None:
    strategy = SleepingBandit()
    links = [("/music/one", "x"), ("/stone/two", "x")]
    shown = visit("http://a.test/", *links)
    strategy.observe(shown, NOTHING)
    scored = strategy.score(shown)
    for _ in range(20):
        for row in (0, 1):
            strategy.observe(visit("http://a.test/x", relevance=1.0 - row, parents=followed(scored, row)), NOTHING)
    later = strategy.score(visit("http://a.test/", ("/stone/three", "x"), ("/music/four", "x"))).scores
    assert 0 < later[1] - later[0] < 1e-3  # less than a step of the bound of an arm
    again = next(iter(strategy.rescore([waiting(scored)], None)))  # type: ignore[arg-type]
    assert again[0] > again[1]


def test_the_number_of_arms_is_limited() -> None:
    strategy = SleepingBandit(most=3)
    for name in "abcdefgh":
        strategy.observe(visit_of(page_of("http://a.test/", f"<div id={name}><a href=/1>x</a></div>")), NOTHING)
    assert len(strategy.pulls) == 3
    assert set(strategy.arms.values()) == {0, 1, 2}


# ---- host-bandit ----------------------------------------------------------------------------------------------------


def bandit_of_hosts(value: str, counts: dict[str, tuple[int, int]], **options: object) -> HostBandit:
    """One that has fetched so many relevant and other pages of each host, all as seeds."""
    strategy = HostBandit(value=value, **{"lam": 0.0, **options})  # type: ignore[arg-type]
    for host, (good, bad) in counts.items():
        for relevance in [1.0] * good + [0.0] * bad:
            strategy.observe(visit(f"http://{host}/", relevance=relevance), NOTHING)
    return strategy


COUNTS = {"a.test": (3, 1), "b.test": (2, 0), "c.test": (0, 2)}
LINKS = [(f"http://{host}/x", "x") for host in [*COUNTS, "d.test"]]


def test_hosts_come_in_the_order_of_their_success() -> None:
    scores = bandit_of_hosts("success", COUNTS).score(visit("http://a.test/", *LINKS)).scores
    ratio = [(good + 1) / (bad + 1) for good, bad in [*COUNTS.values(), (0, 0)]]
    assert np.argsort(scores).tolist() == np.argsort(ratio, kind="stable").tolist()
    expected = [np.floor(1000 * r / (1 + r)) + 0.5 for r in ratio]
    assert scores.tolist() == pytest.approx(expected, abs=1)  # 1000 * 2/3 may be rounded either way


def test_both_multiplies_success_and_prediction() -> None:
    scores = bandit_of_hosts("both", COUNTS).score(visit("http://a.test/", *LINKS)).scores
    assert scores.tolist() == pytest.approx([0.5 * (g + 1) / (b + 1) for g, b in [*COUNTS.values(), (0, 0)]])


def test_inside_a_host_the_classifier_decides() -> None:
    strategy = HostBandit(lam=0.0)
    scored = strategy.score(visit("http://a.test/", ("/1", "owl"), ("/2", "slate")))
    for _ in range(20):
        for row in (0, 1):
            strategy.observe(visit("http://a.test/x", relevance=1.0 - row, parents=followed(scored, row)), NOTHING)
    later = strategy.score(visit("http://a.test/", ("/3", "slate"), ("/4", "owl"))).scores
    assert 0 < later[1] - later[0] < 1


def test_a_share_of_the_rounds_draws_a_host_at_random() -> None:
    strategy, drawn, first = HostBandit(lam=0.2, seed=5), 0, Counter[int]()
    bandit_seen = visit("http://a.test/", *LINKS)
    for strategy.pages in range(1000):
        if strategy.draws():
            drawn += 1
            first[int(np.argmax(strategy.score(bandit_seen).scores))] += 1
    assert 150 < drawn < 250
    assert min(first[row] for row in range(4)) > drawn / 8  # each of four hosts about a quarter


def test_the_share_decays() -> None:
    strategy = HostBandit(lam=1.0, decay=100, seed=5)
    rounds = [0] * 3
    for strategy.pages in range(300):
        rounds[strategy.pages // 100] += strategy.draws()
    assert rounds[0] == 100 > rounds[1] > rounds[2] > 10


# ---- deep-deep ------------------------------------------------------------------------------------------------------


def test_the_target_of_q_is_the_reward_and_the_best_link_ahead() -> None:
    """With a memory of one page behind a link, Q comes to r + gamma Q-(best link of the page), which was 0.05."""
    strategy = DeepDeep(replay=0, switch=10_000, gamma=0.4)
    scored = strategy.score(visit("http://a.test/", ("/one", "first")))
    for _ in range(400):
        ahead = visit("http://a.test/one", ("/two", "second"), relevance=1.0, parents=followed(scored, 0))
        strategy.observe(ahead, NOTHING)
    assert scored.clues is not None
    online = strategy._learner.linear()
    assert q_values(online, scored.clues)[0] == pytest.approx(1 + 0.4 * 0.05, abs=0.02)


def test_what_lies_two_links_ahead_counts_by_gamma() -> None:
    """A dull page that leads to a good one is worth gamma times as much as the good one; a dead end nothing."""
    strategy = DeepDeep(gamma=0.4, switch=5, replay=8, pages=False)
    start = visit("http://a.test/", ("/lists", "catalogue"), ("/dull", "nothing"))
    scored = strategy.score(start)
    middle = visit("http://a.test/lists", ("/good", "wanted"), parents=followed(scored, 0))
    ahead = strategy.score(middle)
    for _ in range(300):
        strategy.observe(middle, NOTHING)
        strategy.observe(visit("http://a.test/dull", parents=followed(scored, 1)), NOTHING)
        strategy.observe(visit("http://a.test/good", relevance=1.0, parents=followed(ahead, 0)), NOTHING)
    catalogue, nothing = strategy.score(start).scores
    (wanted,) = strategy.score(middle).scores
    assert wanted == pytest.approx(1.0, abs=0.1)
    assert catalogue == pytest.approx(0.4 * wanted, abs=0.1)
    assert nothing == pytest.approx(0.0, abs=0.1)


def test_a_request_without_a_page_gives_nothing() -> None:
    strategy = DeepDeep(switch=1)
    scored = strategy.score(visit("http://a.test/", ("/dead", "dead"), ("/live", "live")))
    for _ in range(50):
        strategy.observe(miss("http://a.test/dead", followed(scored, 0)), NOTHING)
        strategy.observe(visit("http://a.test/live", relevance=1.0, parents=followed(scored, 1)), NOTHING)
    dead, live = strategy.score(visit("http://a.test/", ("/dead", "dead"), ("/live", "live"))).scores
    assert dead < 0.2 < 0.8 < live


def test_priorities_change_only_with_a_switch() -> None:
    strategy = DeepDeep(switch=20)
    shown = visit("http://a.test/", ("/one", "one"))
    scored = strategy.score(shown)
    for step in range(1, 41):
        strategy.observe(visit("http://a.test/one", relevance=1.0, parents=followed(scored, 0)), NOTHING)
        changed = strategy.score(shown).scores[0] != np.float32(0.05)
        assert changed == (step >= 20)
    again = next(iter(strategy.rescore([waiting(scored)], None)))  # type: ignore[arg-type]
    assert np.array_equal(again, strategy.score(shown).scores)


def test_a_temperature_draws_by_softmax() -> None:
    """Of two links with the same Q each comes first about as often."""
    firsts = Counter(
        int(
            np.argmax(
                DeepDeep(seed=seed, temperature=0.1).score(visit("http://a.test/", ("/1", "x"), ("/2", "x"))).scores
            )
        )
        for seed in range(200)
    )
    assert min(firsts[0], firsts[1]) > 70


def test_the_memory_is_limited() -> None:
    strategy = DeepDeep(memory=7)
    scored = strategy.score(visit("http://a.test/", ("/one", "one")))
    for _ in range(30):
        strategy.observe(visit("http://a.test/one", parents=followed(scored, 0)), NOTHING)
    assert len(strategy._kept) == 7


# ---- tres -----------------------------------------------------------------------------------------------------------


def plain_split(x: np.ndarray, r: np.ndarray) -> float:
    """The largest gain, by trying all."""
    best = 0.0
    for feature in range(x.shape[1]):
        for value in np.unique(x[:, feature])[:-1]:
            left = x[:, feature] <= value
            inside = left.mean() * r[left].var() + (~left).mean() * r[~left].var()
            best = max(best, float(r.var() - inside))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_split_of_a_leaf_has_the_largest_gain(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 4, (30, 3)).astype(np.float32)
    r = (draw.random(30) < 0.2 + 0.2 * x[:, 1]).astype(np.float32)
    gain, feature, value = best_split(x, r)
    left = x[:, feature] <= value
    assert gain == pytest.approx(plain_split(x, r), abs=1e-6)
    assert gain == pytest.approx(r.var() - left.mean() * r[left].var() - (~left).mean() * r[~left].var(), abs=1e-6)


def test_rewards_that_are_all_alike_are_not_split() -> None:
    tree = RewardTree(2, fewest=5, least=0, deepest=18)
    for number in range(50):
        tree.add(np.array([number, -number], np.float32), np.ones(number + 1, np.float32))
    assert len(tree) == 1


def test_a_tree_tells_what_pays() -> None:
    tree, draw = RewardTree(3, fewest=5, least=0, deepest=18), np.random.default_rng(1)
    for _ in range(200):
        x = draw.random(3).astype(np.float32)
        tree.add(x, np.append(tree.rewards, np.float32(x[1] > 0.6)))
    assert np.array_equal(tree.leaf, tree.leaves(tree.x))
    fresh = draw.random((200, 3)).astype(np.float32)
    said = tree.means()[tree.leaves(fresh)]
    assert ((said > 0.5) == (fresh[:, 1] > 0.6)).mean() > 0.95


def test_a_tree_has_a_depth() -> None:
    tree, draw = RewardTree(3, fewest=2, least=0, deepest=2), np.random.default_rng(1)
    for _ in range(100):
        tree.add(draw.random(3).astype(np.float32), np.append(tree.rewards, np.float32(draw.random() < 0.5)))
    assert tree.depth.max() == 2
    assert len(tree) <= 7


def tres(**options: object) -> Tres:
    return Tres(query=Query.of(["bird nest"]), critic=WordCritic(), **options)  # type: ignore[arg-type]


def test_the_nine_features() -> None:
    strategy = tres()
    links = [("http://b.test/bird", "the bird nest"), ("/x", "bird bird"), ("/y", "stone")]
    seed = visit("http://a.test/", *links, relevance=1.0)
    strategy.observe(seed, NOTHING)
    scored = strategy.score(seed)
    assert scored.state is not None
    assert scored.state[:, :9].round(3).tolist() == [
        pytest.approx([1, 1, 1, 1, 1, 1, 0.5, 1, 1 / 3], abs=1e-3),
        pytest.approx([1, 1, 1, 0, 1, 1, 1.0, 0, 1.0], abs=1e-3),
        pytest.approx([1, 1, 1, 0, 0, 0, 1.0, 0, 0.0], abs=1e-3),
    ]
    dull = visit("http://a.test/y", ("/z", "stone"), relevance=0.0, parents=followed(scored, 2))
    strategy.observe(dull, NOTHING)
    after = strategy.score(dull)
    assert after.state is not None
    assert after.state[0, :9].tolist() == pytest.approx([0, 1 / 2, 0.5, 0, 0, 0, 0.5, 0, 0])
    duller = visit("http://a.test/z", ("/w", "stone"), relevance=0.0, parents=followed(after, 0))
    strategy.observe(duller, NOTHING)
    last = strategy.score(duller).state
    assert last is not None
    assert last[0, :9].tolist() == pytest.approx([0, 1 / 3, 0.3, 0, 0, 0, 0.3, 0, 0])


def test_without_q_the_value_of_a_leaf_is_its_mean_reward() -> None:
    strategy = tres(q=False)
    start = visit("http://a.test/", ("/bird", "x"), ("/stone", "x"), relevance=1.0)
    scored = strategy.score(start)
    for number in range(12):
        row = number % 2
        outcome = visit("http://c.test/", relevance=float(row == 0 and number != 4), parents=followed(scored, row))
        strategy.observe(outcome, NOTHING)
    bird, stone = strategy.score(start).scores
    assert bird - stone == pytest.approx(5 / 6, abs=1e-4)


def test_q_sees_through_a_page_that_gives_nothing() -> None:
    """A link that always leads to a page with good links gives no reward itself; mean rewards cannot tell it from one
    that leads nowhere."""
    early = {}
    for q in (True, False):
        strategy = tres(q=q, every=1, fewest=2)
        start = visit("http://a.test/", ("/bird", "x"), ("/stone", "x"), relevance=1.0)
        scored = strategy.score(start)
        middle = visit("http://b.test/", ("/bird", "bird nest"), parents=followed(scored, 0))
        dull = visit("http://c.test/", ("/stone", "x"), parents=followed(scored, 1))
        good, bad = followed(strategy.score(middle), 0), followed(strategy.score(dull), 0)
        for _ in range(40):
            strategy.observe(middle, NOTHING)
            strategy.observe(dull, NOTHING)
            strategy.observe(visit("http://d.test/", ("/x", "x"), relevance=1.0, parents=good), NOTHING)
            strategy.observe(visit("http://d.test/", ("/x", "x"), parents=bad), NOTHING)
        early[q] = float(np.subtract(*strategy.score(start).scores))
    assert early[True] > 0.5
    assert abs(early[False]) < 0.01


def test_value_iteration_is_that_of_the_formula() -> None:
    strategy, rewards = tres(fewest=3), list[float]()
    draw = np.random.default_rng(2)
    start = visit("http://a.test/", *((f"/{word}", word) for word in ("bird", "stone", "nest")), relevance=1.0)
    scored = strategy.score(start)
    for number in range(30):
        words = draw.choice(["bird", "stone", "bird nest"], int(draw.integers(3)))
        links = [(f"/{number}-{i}", str(word)) for i, word in enumerate(words)]
        row = int(draw.integers(3))
        rewards.append(float(row == 0))
        before, leaves = strategy.values, copy(strategy.tree).leaves
        strategy.observe(
            visit(f"http://a.test/p{number}", *links, relevance=rewards[-1], parents=followed(scored, row)), NOTHING
        )
        ahead = [[before[leaves(x[None])[0]] for x in rows] for rows in strategy._ahead]
        y = [r + 0.99 * max(of_links or before) for r, of_links in zip(rewards, ahead, strict=True)]
        for leaf in set(strategy.tree.leaf.tolist()):
            inside = np.flatnonzero(strategy.tree.leaf == leaf)
            assert strategy.values[leaf] == pytest.approx(np.mean([y[at] for at in inside]), rel=1e-4)
    assert len(strategy.tree) > 1


def test_links_in_a_leaf_come_in_a_drawn_order() -> None:
    orders = set()
    for seed in range(5):
        scores = tres(seed=seed).score(visit("http://a.test/", *((f"/{i}", "x") for i in range(6)))).scores
        assert len(set(scores.tolist())) == 6
        orders.add(tuple(np.argsort(scores).tolist()))
    assert len(orders) == 5
