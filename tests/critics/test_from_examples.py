"""What cosine, rocchio, svm and mlp have in common: they are functions of the pages they were shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from forager.critics.cosine import Cosine
from forager.critics.from_examples import FromExamples
from forager.critics.mlp import Mlp
from forager.critics.rocchio import Rocchio
from forager.critics.svm import LinearSvm
from forager.errors import ForagerError
from forager.learn.calibration import roc_auc
from forager.store import models
from forager.types import Parts, Persists

from .examples import fitted, log_loss, relevances, several, topical
from .pages import of_terms

CRITICS: list[Callable[..., FromExamples]] = [Cosine, Rocchio, LinearSvm, Mlp]


@pytest.fixture(params=CRITICS, ids=lambda maker: str(maker.name))
def maker(request: pytest.FixtureRequest) -> Callable[..., FromExamples]:
    return request.param  # type: ignore[no-any-return]


def same(one: Parts, two: Parts) -> None:
    assert one.keys() == two.keys()
    for name, part in one.items():
        if isinstance(part, np.ndarray):
            np.testing.assert_array_equal(part, two[name], name)
        else:
            assert part == two[name], name


def test_calibrated_relevance_means_what_it_says(maker: Callable[..., FromExamples]) -> None:
    critic = maker(focus=["a"])
    critic.fit(*topical(300))
    pages, labels = topical(600, seed=1)
    judged = critic.judge(pages)
    wanted = np.array([label == "a" for label in labels])
    loss = log_loss(relevances(judged).tolist(), labels)
    assert roc_auc(relevances(judged), wanted) > 0.75
    assert loss < 0.55  # knowing the share of wanted pages alone gives 0.61
    assert loss < log_loss([one.raw for one in judged], labels) + 0.01
    assert relevances(judged).mean() == pytest.approx(wanted.mean(), abs=0.06)


def test_quality_foretells_what_new_pages_show(maker: Callable[..., FromExamples]) -> None:
    critic = maker(focus=["a"])
    critic.fit(*topical(300))
    pages, labels = topical(600, seed=1)
    judged, found = critic.judge(pages), critic.quality
    assert found is not None
    assert found.positives + found.negatives == 300
    wanted = np.array([label == "a" for label in labels])
    assert found.roc_auc == pytest.approx(roc_auc(relevances(judged), wanted), abs=0.06)
    assert found.log_loss == pytest.approx(log_loss(relevances(judged).tolist(), labels), abs=0.1)
    assert found.raw_log_loss == pytest.approx(log_loss([one.raw for one in judged], labels), abs=0.12)
    assert critic.calibration.startswith("fitted to")


def test_calibration_can_be_left_out(maker: Callable[..., FromExamples]) -> None:
    critic, raw = maker(focus=["a"]), maker(focus=["a"], calibrate=False)
    for each in (critic, raw):
        each.fit(*topical(100))
    pages = topical(50, seed=1)[0]
    for one, two in zip(critic.judge(pages), raw.judge(pages), strict=True):
        assert two.relevance == two.raw == one.raw
        assert two.topics.tolist() == pytest.approx([two.raw, 1 - two.raw], abs=1e-6)
    assert raw.calibration == "none: raw values"
    assert raw.version != critic.version


@pytest.mark.parametrize("others", [3, 30])
def test_three_examples_will_do(maker: Callable[..., FromExamples], others: int) -> None:
    pages, labels = several(200)
    training = [i for i, name in enumerate(labels) if name == "a.x"][:3]
    training += [i for i, name in enumerate(labels) if name in "bc"][:others]
    critic = maker(focus=["a"])
    critic.fit([pages[i] for i in training], [labels[i] for i in training])
    assert critic.calibration == f"default: 3 wanted pages and {others} others teach too little"
    assert critic.quality is None
    judged = relevances(critic.judge(pages[100:]))
    wanted = np.array([name == "a.x" for name in labels[100:]])
    assert judged[wanted].min() > 0.5 > judged[~wanted].mean()
    assert roc_auc(judged, wanted) > 0.98


def test_one_page_a_side_is_enough_to_begin_with(maker: Callable[..., FromExamples]) -> None:
    critic = maker(focus=["a"])
    fitted(critic, [([1, 2, 3], "a"), ([4, 5, 3], "b")])
    yes, no = critic.judge([of_terms([1, 2]), of_terms([4, 5])])
    assert 0 <= no.relevance <= yes.relevance <= 1


def test_classes_share_the_probability_of_their_side(maker: Callable[..., FromExamples]) -> None:
    critic = maker(focus=["a"])
    critic.fit(*several(80))
    pages, labels = several(40, seed=1)
    judged = critic.judge([*pages, of_terms([])])
    assert critic.classes == ("a.x", "a.y", "b", "c")
    for one in judged:
        assert one.topics[:2].sum() == pytest.approx(one.relevance, abs=1e-5)
        assert one.topics.sum() == pytest.approx(1, abs=1e-5)
    best = [critic.classes[int(one.topics.argmax())] for one in judged[:-1]]
    known = [name[0] if maker is Cosine and name in "bc" else name for name in labels]  # it keeps no page of b or c
    right = [a == b for a, b in zip(best, known, strict=True) if not (maker is Cosine and b in "bc")]
    assert np.mean(right) > 0.9


def test_merge_of_halves_is_the_whole(maker: Callable[..., FromExamples]) -> None:
    pages, labels = topical(60)
    whole = maker(focus=["a"])
    whole.fit(pages, labels)
    halves = []
    for half in (slice(0, 25), slice(25, 60)):
        part = maker(focus=["a"])
        part.fit(pages[half], labels[half])
        halves.append(part.parts())
    merged = whole.from_parts(whole.merge(halves))
    same(merged.parts(), whole.parts())
    assert merged.version == whole.version


def test_the_order_of_the_pages_does_not_matter(maker: Callable[..., FromExamples]) -> None:
    pages, labels = topical(40)
    one, two = maker(focus=["a"]), maker(focus=["a"])
    one.fit(pages, labels)
    two.fit(pages[::-1], labels[::-1])
    assert one.version == two.version


def test_feedback_is_training_with_more_pages(maker: Callable[..., FromExamples]) -> None:
    pages, labels = topical(60)
    whole, later = maker(focus=["a"]), maker(focus=["a"])
    whole.fit(pages, labels)
    later.fit(pages[:40], labels[:40])
    later.feedback(pages[40:], [label == "a" for label in labels[40:]])
    same(later.parts(), whole.parts())


def test_feedback_on_a_page_known_replaces_its_label(maker: Callable[..., FromExamples]) -> None:
    pages, labels = topical(60)
    wrong = [*labels[:59], "b" if labels[59] == "a" else "a"]
    whole, later = maker(focus=["a"]), maker(focus=["a"])
    whole.fit(pages, labels)
    later.fit(pages, wrong)
    assert later.version != whole.version
    later.feedback([pages[59]], [labels[59] == "a"])
    same(later.parts(), whole.parts())


def test_feedback_keeps_the_classes(maker: Callable[..., FromExamples]) -> None:
    critic = maker(focus=["a"])
    critic.fit(*several(40))
    pages, labels = several(8, seed=1)
    critic.feedback(pages, [name.startswith("a.") for name in labels])
    assert critic.classes == ("a.x", "a.y", "b", "c")
    counted = critic.parts()["pages_of"]
    assert sum(counted.values()) == 48
    assert counted["a.x"] + counted["a.y"] == 24


def test_feedback_that_leaves_nothing_to_tell_apart(maker: Callable[..., FromExamples]) -> None:
    critic = maker(focus=["a"])
    fitted(critic, [([1, 2], "a"), ([3, 4], "b")])
    version = critic.version
    with pytest.raises(ForagerError, match="give pages of both kinds"):
        critic.feedback([of_terms([1, 2])], [False])
    assert critic.version == version


def test_the_sample_is_bounded_and_stands_for_all(maker: Callable[..., FromExamples]) -> None:
    critic = maker(focus=["a"], most=60)
    critic.fit(*topical(400, share=0.15))
    parts = critic.parts()
    assert sorted(parts["held_labels"]) == ["a"] * 30 + ["b"] * 30
    assert sum(parts["pages_of"].values()) == parts["df_pages"].sum() == 400
    pages, labels = topical(400, seed=1, share=0.15)
    # half of the sample is wanted, of the pages it is a seventh
    assert relevances(critic.judge(pages)).mean() == pytest.approx(labels.count("a") / 400, abs=0.06)


def test_a_saved_model_judges_alike(maker: Callable[..., FromExamples], tmp_path: Path) -> None:
    critic = maker(focus=["a"], seed=1)
    critic.fit(*several(40))
    models.save(tmp_path / "m.npz", critic.parts(), kind=critic.name, version=1)
    again = maker(focus=["a"], seed=2).from_parts(models.load(tmp_path / "m.npz", kind=critic.name, version=1))
    assert isinstance(again, Persists)
    assert (again.version, again.classes, again.quality) == (critic.version, critic.classes, critic.quality)
    pages = several(20, seed=1)[0]
    for one, two in zip(critic.judge(pages), again.judge(pages), strict=True):
        assert (one.relevance, one.raw, one.version) == (two.relevance, two.raw, two.version)
        np.testing.assert_array_equal(one.topics, two.topics)
    for each in (critic, again):  # and the other seed still knows the pages again
        each.feedback([several(40)[0][0]], [False])
    same({**again.parts(), **_weights(critic)}, critic.parts())


def _weights(critic: FromExamples) -> Parts:
    """What may depend on the seed of the fitting."""
    names = {"hidden", "hidden_bias", "out", "out_bias", "weights", "bias", "platt", "quality"}
    return {name: part for name, part in critic.parts().items() if name in names}


def test_another_focus_is_learnt_from_the_pages_kept(maker: Callable[..., FromExamples]) -> None:
    one, two = maker(focus=["a"]), maker(focus=["b"])
    one.fit(*several(40))
    two.fit(*several(40))
    turned = two.from_parts(one.parts())
    same(turned.parts(), two.parts())
    assert turned.version == two.version != one.version


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "no pages to train on"),
        (["a", "a.x"], "give pages that are not wanted"),
        (["c", "d"], "no class at or below a focus named 'a'; nearest: c, d"),
    ],
)
def test_what_cannot_be_learnt_from(maker: Callable[..., FromExamples], labels: list[str], message: str) -> None:
    critic = maker(focus=["a"])
    fitted(critic, [([1], "a"), ([2], "b")])
    version = critic.version
    with pytest.raises(ForagerError, match=message):
        critic.fit([of_terms([1])] * len(labels), labels)
    assert critic.version == version  # the old model is kept


def test_what_must_be_given(maker: Callable[..., FromExamples]) -> None:
    with pytest.raises(ForagerError, match="without a focus"):
        maker(focus=[])
    with pytest.raises(ForagerError, match="give 2 or more"):
        maker(focus=["a"], most=1)
    with pytest.raises(ForagerError, match="knows nothing yet: fit it"):
        maker(focus=["a"]).judge([of_terms([1])])
    with pytest.raises(ForagerError, match="knows nothing yet: fit it"):
        maker(focus=["a"]).parts()


def test_critics_combine(maker: Callable[..., FromExamples]) -> None:
    critic = maker(focus=["a"])
    critic.fit(*several(40))
    page = several(1, seed=1)[0]
    (plain,), (turned,) = critic.judge(page), (~critic & ~critic).judge(page)
    assert turned.relevance == pytest.approx(1 - plain.relevance)


@pytest.mark.parametrize("maker", [Cosine, Rocchio])
def test_a_page_left_out_scores_as_if_it_had_not_been_there(maker: Callable[..., FromExamples]) -> None:
    pages, labels = topical(40)
    critic = maker(focus=["a"])
    corpus = critic._maker.gathered(pages, labels)
    _, left_out = critic._learn(corpus, np.array([True, False]))
    orders = [held.order for held in corpus.held]
    for i, page in enumerate(pages[:12]):
        again = maker(focus=["a"])
        again.fit(pages[:i] + pages[i + 1 :], labels[:i] + labels[i + 1 :])
        place = orders.index(critic._maker.gathered([page], ["a"]).held[0].order)
        assert left_out.z[place] == pytest.approx(again.judge([page])[0].raw, rel=0.03)
