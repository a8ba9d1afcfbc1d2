"""Claims of the paper on the baseline and on the words around links: sections 2.2, 2.3, 3.3, 3.4 and 3.8, figs. 4 to 9.

Each topic gives one value, and a mean over the topics is told from zero by its interval. Where a claim is on what a
learner learns, it is decided with raw labels, as printed, and with calibrated ones: it holds, or does not, only where
the two do not contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from forager_lab.bootstrap import Difference, difference
from forager_lab.metrics import Figure, mean
from studies.apprentice import losses
from studies.apprentice.losses import EVERY
from studies.apprentice.offline import D_MAX, OFFSETS, USUAL
from studies.apprentice.offline_features import BEST
from studies.apprentice.set_ups import BASELINE
from studies.apprentice.study import ApprenticeStudy
from studies.claims import Claim, as_found, larger
from studies.page import share

LABELS = ("raw", "calibrated")
NOTHING = "no figures"
Offline: TypeAlias = Mapping[str, Any]  # the offline figures of a topic with one kind of labels
Value: TypeAlias = Callable[[Offline], Figure]


# ---- means over topics ----------------------------------------------------------------------------------------------


def over_topics(values: Iterable[Figure]) -> Difference | None:
    """The mean over the topics that have a value, with its interval."""
    known = [[value] for value in values if value is not None]
    return difference(known, [[0.0]] * len(known)) if known else None


def above_zero(found: Difference | None) -> bool | None:
    """Whether a mean is above zero; None if that cannot be told."""
    return None if found is None else larger(found)


def as_text(found: Difference | None) -> str:
    """With the half width of its interval."""
    return NOTHING if found is None else as_found(found)


def agree(verdicts: Sequence[bool | None]) -> bool | None:
    """What all say, or some say while the others cannot tell; None if they contradict each other or nobody can."""
    told = {verdict for verdict in verdicts if verdict is not None}
    return told.pop() if len(told) == 1 else None


def with_labels(study: ApprenticeStudy, value: Value, paper: str, rule: str) -> Claim:
    """A claim that holds if a value is above zero in the mean over topics, with raw labels and with calibrated ones."""
    found = [over_topics(value(each[labels]) for each in study.offline.values()) for labels in LABELS]
    told = "; ".join(f"{as_text(each)} with {labels} labels" for labels, each in zip(LABELS, found, strict=True))
    return Claim(paper, f"{rule}, in the mean over topics, with its interval", told, agree([*map(above_zero, found)]))


# ---- the baseline ---------------------------------------------------------------------------------------------------


def baseline_claims(study: ApprenticeStudy) -> list[Claim]:
    """Figures 4 and 5, and the medians of section 2.3."""
    return [_harvest(study), _bimodal(study), _medians(study)]


def _harvest(study: ApprenticeStudy) -> Claim:
    runs = range(study.plan.runs)
    lost = [
        mean(losses.losses(study, topic, BASELINE, size, "critic", runs, EVERY)) for topic, size in study.sizes.items()
    ]
    harvest = [1 - each for each in lost if each is not None]
    inside = sum(0.25 <= each <= 0.6 for each in harvest)
    return Claim(
        "§3.3, fig. 4: the baseline's harvest rates are .25 to .6",
        "by the critic, after R pages, on more than half of the topics",
        f"{inside} of {len(harvest)} topics; {_range(harvest)}",
        inside > len(harvest) / 2,
    )


def _bimodal(study: ApprenticeStudy) -> Claim:
    outer = []
    for topic in study.sizes:
        runs = losses.runs_of(study, topic, BASELINE)
        raw = np.concatenate([study.crawls[topic, run, BASELINE].raw for run in runs])
        outer.append(float(((raw < 0.1) | (raw > 0.9)).mean()))
    return Claim(
        "§3.3, fig. 5: the relevance of pages is strongly bimodal",
        "at least .8 of the baseline's pages have a raw relevance below .1 or above .9, on every topic",
        _range(outer),
        min(outer) >= 0.8,
    )


def _medians(study: ApprenticeStudy) -> Claim:
    pairs = [found["raw"]["medians"] for found in study.offline.values() if None not in found["raw"]["medians"]]
    low, high = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return Claim(
        "§2.3: the medians of the low and of the high bucket are very close to 0 and 1",
        "below .1 and above .9 on every topic, raw labels",
        f"low {_range(low)}; high {_range(high)}",
        max(low) < 0.1 and min(high) > 0.9 if pairs else None,
    )


def _range(values: Sequence[float]) -> str:
    return f"{share(min(values))} to {share(max(values))}" if values else NOTHING


# ---- words around links ---------------------------------------------------------------------------------------------


def word_claims(study: ApprenticeStudy) -> list[Claim]:
    """Sections 2.2.2 and 3.4, figures 6 to 9."""
    return [
        *(with_labels(study, *each) for each in (*_windows(), *_kinds(), *_gains())),
        Claim(
            "§3.4, fig. 8: gain does not depend on d_max",
            "–", "the gain of <t,d> is defined without d_max here, so there is nothing to see", None,
        ),
        _chosen_windows(study),
        *_leaves(study),
    ]  # fmt: skip


def _accuracy(kind: str, window: int, at: int) -> Value:
    def value(found: Offline) -> Figure:
        told = found["accuracy"][kind][window]
        return None if told is None else float(told[at])

    return value


def _minus(one: Value, other: Value) -> Value:
    def value(found: Offline) -> Figure:
        first, second = one(found), other(found)
        return None if first is None or second is None else first - second

    return value


NEGATIVE, POSITIVE, ALL = range(3)
ClaimParts: TypeAlias = tuple[Value, str, str]


def _windows() -> list[ClaimParts]:
    none, usual, wide = ([_accuracy("offset", d, at) for at in range(3)] for d in (0, USUAL, D_MAX))
    return [
        (_minus(usual[NEGATIVE], none[NEGATIVE]), "§3.4, fig. 6: accuracy on negatives grows with d_max up to about 5",
         "accuracy on negatives is larger at d_max = 5 than at 0"),
        (_minus(none[POSITIVE], usual[POSITIVE]), "§3.4, fig. 6: accuracy on positives falls slightly",
         "accuracy on positives is smaller at d_max = 5 than at 0; the fall is shown"),
        (_minus(usual[ALL], none[ALL]), "§3.4, fig. 6: accuracy on all instances grows at first",
         "accuracy on all is larger at d_max = 5 than at 0"),
        (lambda found: _below(0.01, _minus(wide[ALL], usual[ALL])(found)),
         "§3.4, fig. 6: beyond d_max = 5 the growth levels off or is reversed",
         "accuracy on all is not larger by .01 at d_max = 8 than at 5; .01 - the growth is shown"),
    ]  # fmt: skip


def _below(limit: float, value: Figure) -> Figure:
    return None if value is None else limit - value


def _kinds() -> list[ClaimParts]:
    offset, words, distance = (_accuracy(kind, USUAL, ALL) for kind in ("offset", "words", "distance"))
    return [
        (_minus(offset, words), "§3.4, fig. 7: <t,d> is better than plain words of the same window",
         "accuracy on all of <t,d> less that of plain words is above zero at d_max = 5"),
        (_minus(_accuracy("words", 0, ALL), words), "fig. 7: the accuracy of plain words falls with d_max",
         "accuracy on all of plain words is smaller at d_max = 5 than at 0; the fall is shown"),
        (_minus(offset, distance), "§2.2.2: <t,x>, with the distance x in words, is too sparse to learn",
         "accuracy on all of <t,d> less that of <t,x> is above zero at d_max = 5"),
    ]  # fmt: skip


def _at(values: Sequence[float], *offsets: int) -> float:
    """The mean at these distances, on both sides."""
    return float(np.mean([values[OFFSETS.index(side * d)] for d in offsets for side in (-1, 1)]))


def saw_tooth(values: Sequence[float]) -> float:
    """How much even offsets stick out from the odd ones beside them."""
    return (
        _at(values, 2) - (_at(values, 1) + _at(values, 3)) / 2 + _at(values, 4) - (_at(values, 3) + _at(values, 5)) / 2
    ) / 2


def _gains() -> list[ClaimParts]:
    def gain(found: Offline) -> list[float]:
        return [1000 * each for each in found["gain"]["mean"]]  # in thousandths of a bit

    def settled(found: Offline) -> float:
        near, beyond, far = (_at(gain(found), *offsets) for offsets in ((0, 1), (5, 6), (7, 8)))
        return 0.1 * (near - beyond) - abs(beyond - far)

    return [
        (lambda found: _at(gain(found), 0, 1) - _at(gain(found), 4, 5),
         "§3.4, fig. 8: the information gain of a word falls with its distance from the link",
         "mean gain at d = 0 and ±1 less that at ±4 and ±5 is above zero (bits / 1000)"),
        (lambda found: saw_tooth(gain(found)), "§3.4, fig. 8: it falls in a saw-tooth, larger at even offsets",
         "mean gain at d = ±2 and ±4 less that at the odd offsets beside them is above zero (bits / 1000)"),
        (settled, "§3.4, fig. 8: from about 5 on it is almost constant",
         "it changes less from d = ±5, ±6 to ±7, ±8 than a tenth of the change from 0, ±1 to ±5, ±6; the margin is "
         "shown"),
    ]  # fmt: skip


def _chosen_windows(study: ApprenticeStudy) -> Claim:
    chosen = [
        each["d_max"]
        for found in study.offline.values()
        for labels in LABELS
        for each in found[labels]["window"]
        if each is not None
    ]
    inside = sum(4 <= each <= 6 for each in chosen)
    return Claim(
        "§3, §3.4: the apprentice can determine the best d_max, typically 4 to 6",
        "chosen by accuracy within what it learns from, more than half of the choices are 4 to 6",
        f"{inside} of {len(chosen)} choices; median {np.median(chosen):g}" if chosen else NOTHING,
        inside > len(chosen) / 2 if chosen else None,
    )


def _leaves(study: ApprenticeStudy) -> list[Claim]:
    """Figure 9; labels play no part in it."""
    offline = [found["raw"] for found in study.offline.values()]
    mass = over_topics(saw_tooth(found["mass"]) for found in offline)
    odd = [_at(found["wordless"], 1, 3) for found in offline]
    most = over_topics(each - 0.5 for each in odd)
    more = over_topics(each - _at(found["wordless"], 2, 4) for each, found in zip(odd, offline, strict=True))
    end = ", in the mean over topics, with its interval"
    return [
        Claim("§3.4, fig. 9a: there is less text at odd offsets than at even ones",
              f"share of all words at d = ±2 and ±4 less that at the odd offsets beside them is above zero{end}",
              as_text(mass), above_zero(mass)),
        Claim("§3.4, fig. 9b: most leaves at odd offsets are tags without text",
              f"share of leaves without a word at d = ±1 and ±3, less one half, is above zero{end}",
              as_text(most), above_zero(most)),
        Claim("§3.4, fig. 9b: there are more of them at odd offsets than at even ones",
              f"that share at d = ±1 and ±3 less that at ±2 and ±4 is above zero{end}",
              as_text(more), above_zero(more)),
    ]  # fmt: skip


# ---- further features -----------------------------------------------------------------------------------------------


def feature_claims(study: ApprenticeStudy) -> list[Claim]:
    """Sections 2.2.3 and 3.8, with the critic that has the classes of the web's taxonomy."""
    pairs = {
        "names": ("words", "§3.8: names of the source's best classes add about 1 % of accuracy"),
        "prefixes": ("names", "§3.8: so do the prefixes of their paths"),
    }
    return [
        *(_about_one_percent(study, name, less, paper) for name, (less, paper) in pairs.items()),
        _discriminants(study),
        with_labels(study, _minus(_feature("vector"), _feature("words")),
                    "§2.2.3: the vector of class probabilities helps",
                    "accuracy on all with the vector less that of words alone is above zero, taxonomy critic"),
        with_labels(study, lambda found: _below(0.01, _minus(_feature("cocitation"), _feature("words"))(found)),
                    "§3.8: co-citation does not improve accuracy appreciably",
                    "accuracy on all grows by less than .01, taxonomy critic; .01 - the growth is shown"),
    ]  # fmt: skip


def _feature(name: str) -> Value:
    def value(found: Offline) -> Figure:
        told = found["features"]["taxonomy"]["accuracy"][name]
        return None if told is None else float(told[ALL])

    return value


def _about_one_percent(study: ApprenticeStudy, name: str, less: str, paper: str) -> Claim:
    gain = _minus(_feature(name), _feature(less))
    found = [over_topics(gain(each[labels]) for each in study.offline.values()) for labels in LABELS]
    told = "; ".join(f"{as_text(each)} with {labels} labels" for labels, each in zip(LABELS, found, strict=True))
    rule = "accuracy on all grows, by .005 to .03, in the mean over topics, with its interval above zero"
    return Claim(paper, f"{rule}; taxonomy critic", told, agree([_within(each, 0.005, 0.03) for each in found]))


def _within(found: Difference | None, least: float, most: float) -> bool | None:
    if found is None or found.half is None:
        return None
    if found.told_apart and least <= found.mean <= most:
        return True
    overlaps = found.mean - found.half <= most and found.mean + found.half >= least
    return None if overlaps else False


def _discriminants(study: ApprenticeStudy) -> Claim:
    counts = [
        found[labels]["features"]["taxonomy"]["class names among the best"]
        for found in study.offline.values()
        for labels in LABELS
    ]
    some = sum(count > 0 for count in counts)
    return Claim(
        "§3.8: class names and prefixes are among the best discriminants",
        f"of the {BEST} features with the largest gain at least one is a class or above one, in more than half of the "
        "cases (topics with raw and with calibrated labels), taxonomy critic",
        f"{some} of {len(counts)} cases; {np.mean(counts):.0f} of {BEST} in the mean",
        some > len(counts) / 2,
    )
