"""All claims of sections 2 and 3 of the paper and its figures 4 to 14, with rules that were fixed beforehand.

Losses are paired by run and topic. A difference of losses is told from zero by its interval over topics and runs
(forager_lab/bootstrap.py). The deciding figure is the loss by truth after R/2 pages, the middle of the three horizons,
unless the rule says otherwise; the others stand beside it. The settings of our own apprentice were chosen on the first
run, so for it that run decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from forager_lab.bootstrap import Difference, difference
from forager_lab.metrics import Figure, mean
from studies.apprentice import losses
from studies.apprentice.courses import (
    BEFOREHAND,
    CHOSEN_ON,
    PRINTED_BEST,
    PRINTED_FIRST,
    RECALLING,
    RECALLING_PRINTED,
    SWITCHING,
    SWITCHING_PRINTED,
    CrawlCourse,
    topics_of,
)
from studies.apprentice.crawl_sections import levels, overlap_at, waiting_links
from studies.apprentice.further_sections import features_online
from studies.apprentice.losses import BOTH, EVERY, HALF_B, HORIZONS, By, union_overlap
from studies.apprentice.offline_claims import (
    NOTHING,
    above_zero,
    as_text,
    baseline_claims,
    feature_claims,
    over_topics,
    word_claims,
)
from studies.apprentice.set_ups import GRAPH, HALVED, LAYERS, ONLINE, TAXONOMY, VECTOR
from studies.apprentice.study import ApprenticeStudy
from studies.claims import Claim
from studies.page import share

MIDDLE, END = "R/2", "R"
SMALL_OVERLAP = 0.1  # of the union; the paper's are .03 to .09


def apprentice_claims(study: ApprenticeStudy) -> list[Claim]:
    """All claims, in the order of the paper."""
    return [
        *baseline_claims(study),
        *word_claims(study),
        Claim("§3.4: the apprentice is trained in minutes where the critic takes hours", "–",
              "not measured: the critics here learn from some hundred pages, the paper's from 120,000", None),
        *(claim for course in (PRINTED_BEST, PRINTED_FIRST, BEFOREHAND) for claim in _cut_claims(study, course)),
        *(claim for course in (PRINTED_BEST, BEFOREHAND) for claim in _overlap_claims(study, course)),
        *_recall_claims(study, RECALLING_PRINTED, PRINTED_BEST),
        *_recall_claims(study, RECALLING, BEFOREHAND),
        *(claim for course in (SWITCHING_PRINTED, SWITCHING) for claim in _switch_claims(study, course)),
        *_batch_claims(study),
        *feature_claims(study),
        _features_in_crawls(study),
        _context_graph(study),
    ]  # fmt: skip


# ---- losses side by side --------------------------------------------------------------------------------------------


def pages_at(study: ApprenticeStudy, topic: str, horizon: str) -> int:
    return losses.horizons(study, topic)[[*HORIZONS].index(horizon)]


def paired(
    study: ApprenticeStudy, course: CrawlCourse, name: str, horizon: str, by: By = "truth"
) -> Iterator[tuple[str, list[float], list[float]]]:
    """For each topic the losses of a course and of the crawl of this name, in the runs that chose nothing.

    Topics without such crawls, or with a crawl that ended too early or has no page that counts, are left out.
    """
    for topic in topics_of(study, course):
        runs, n = losses.runs_of(study, topic, course.name)[course.chosen_on :], pages_at(study, topic, horizon)
        pair = [losses.losses(study, topic, each, n, by, runs, course.counting) for each in (course.name, name)]
        ours, theirs = ([value for value in values if value is not None] for values in pair)
        if runs and len(ours) == len(theirs) == len(runs):
            yield topic, ours, theirs


def less_lost(
    study: ApprenticeStudy, course: CrawlCourse, name: str, horizon: str = MIDDLE, *, by: By = "truth", of: float = 1.0
) -> Difference | None:
    """How much less a course loses than a share of what the crawl of this name loses."""
    rows = list(paired(study, course, name, horizon, by))
    if not rows:
        return None
    return difference([[of * each for each in theirs] for *_, theirs in rows], [ours for _, ours, _ in rows])


def cut(study: ApprenticeStudy, course: CrawlCourse, horizon: str, by: By) -> Figure:
    """The loss reduction of the losses summed over all topics."""
    rows = list(paired(study, course, study.plan.baseline_of(course.name), horizon, by))
    ours, theirs = ([mean(each) for each in sides] for sides in ([row[1] for row in rows], [row[2] for row in rows]))
    return losses.reduction(mean(ours), mean(theirs))


def topic_cuts(study: ApprenticeStudy, course: CrawlCourse, horizon: str) -> dict[str, Figure]:
    """The loss reduction of the mean losses of each topic, by truth."""
    rows = paired(study, course, study.plan.baseline_of(course.name), horizon)
    return {topic: losses.reduction(mean(ours), mean(theirs)) for topic, ours, theirs in rows}


def _who(course: CrawlCourse) -> str:
    return course.title.partition(":")[0]


def percent(value: Figure) -> str:
    return "–" if value is None else f"{100 * value:.0f}"


def _cuts_text(study: ApprenticeStudy, course: CrawlCourse) -> str:
    told = (f"{', '.join(percent(cut(study, course, at, by)) for at in HORIZONS)} % by {by}" for by in BOTH)
    return f"cut at R/4, R/2, R: {'; '.join(told)}"


# ---- sections 3.2 and 3.5: loss reduction ---------------------------------------------------------------------------


def _cut_claims(study: ApprenticeStudy, course: CrawlCourse) -> list[Claim]:
    base, who = study.plan.baseline_of(course.name), _who(course)
    found = less_lost(study, course, base, of=0.7)
    cuts = topic_cuts(study, course, MIDDLE)
    known = {topic: each for topic, each in cuts.items() if each is not None}
    typical = sum(0.3 <= each <= 0.6 for each in known.values())
    best = max(known, key=lambda topic: known[topic], default="")
    told = ", ".join(f"{topic} {percent(each)}" for topic, each in cuts.items())
    return [
        Claim(f"§3.5, fig. 10: loss is cut by 30 to 90 % ({who})",
              "70 % of the baseline's loss less the apprentice's is above zero at R/2 by truth, with its interval",
              f"{as_text(found)}; {_cuts_text(study, course)}", above_zero(found)),
        Claim(f"§3.5: typically by 30 to 60 % ({who})", "so at R/2 by truth on more than half of the topics",
              f"{typical} of {len(cuts)} topics; {told} %", typical > len(cuts) / 2 if cuts else None),
        Claim(f"§3.5: by 90 % on one of the best topics ({who})", "at R/2 by truth on some topic",
              f"{best} {percent(known[best])} %" if best else NOTHING, known[best] >= 0.9 if best else None),
        _none_worse(study, course, base),
    ]  # fmt: skip


def _none_worse(study: ApprenticeStudy, course: CrawlCourse, base: str) -> Claim:
    by_topic = {topic: difference([theirs], [ours]) for topic, ours, theirs in paired(study, course, base, MIDDLE)}
    worse = [topic for topic, each in by_topic.items() if each.mean <= 0]
    sure = [topic for topic in worse if by_topic[topic].told_apart]
    told = f"not better on {', '.join(worse)}" if worse else "better on all"
    return Claim(
        f"§3.2: all topics improve, none deteriorates ({_who(course)})",
        "loss at R/2 by truth is smaller on every topic; does not hold if it is larger on some, with its interval",
        f"{told}{'; told from chance: ' + ', '.join(sure) if sure else ''}" if by_topic else NOTHING,
        None if not by_topic or (worse and not sure) else not worse,
    )


# ---- section 3.6: other pages, recall -------------------------------------------------------------------------------


def _overlap_claims(study: ApprenticeStudy, course: CrawlCourse) -> list[Claim]:
    at_end = {topic: overlap_at(study, topic, course.name, size, union_overlap) for topic, size in study.sizes.items()}
    small = over_topics(None if each is None else SMALL_OVERLAP - each for each in at_end.values())
    new = {topic: _never_met(study, topic, course) for topic in study.sizes}
    average = mean([each for each in at_end.values() if each is not None])
    return [
        Claim(f"§3.6, fig. 11: the two crawls share few URLs, 3 to 9 % of their union ({_who(course)})",
              "less than .1 of the union after R pages, in the mean over topics, with its interval",
              f"{share(average)} of the union", above_zero(small)),
        Claim(f"§3: it finds crawl paths that the baseline never expands ({_who(course)})",
              "on every topic it has pages with the label after R pages that the baseline does not have after 2R",
              f"{share(min(new.values()))} to {share(max(new.values()))} of its pages with the label, by topic",
              min(new.values()) > 0),
    ]  # fmt: skip


def _never_met(study: ApprenticeStudy, topic: str, course: CrawlCourse) -> float:
    """Of the relevant pages of a crawl, the share that its baseline does not have in all its pages."""
    base, found = study.plan.baseline_of(course.name), []
    for run in losses.runs_of(study, topic, course.name):
        ours, theirs = study.crawls[topic, run, course.name], {*study.crawls[topic, run, base].order}
        wanted = [url for url, good in zip(ours.order, ours.relevant.tolist(), strict=True) if good]
        found += [url not in theirs for url in wanted]
    return sum(found) / max(1, len(found))


def _recall_claims(study: ApprenticeStudy, course: CrawlCourse, free: CrawlCourse) -> list[Claim]:
    base = study.plan.baseline_of(course.name)
    above = less_lost(study, course, base)
    below = less_lost(study, course, free.name)  # negative: the free crawler loses less
    verdicts = above_zero(above), None if below is None or not below.told_apart else below.mean < 0
    end = less_lost(study, course, base, END)
    return [
        Claim(f"§3.6, fig. 12: the recall crawler lies between the baseline and the free apprentice ({_who(course)})",
              "it loses less than the baseline and more than the free one at R/2 by truth, with both intervals",
              f"less than the baseline by {as_text(above)}, than the free one by {as_text(below)}",
              False if False in verdicts else None if None in verdicts else True),
        Claim(f"§3.6: at the end it meets the baseline ({_who(course)})",
              "the losses at R by truth differ by less than .01 in the mean",
              as_text(end), None if end is None else abs(end.mean) < 0.01),
    ]  # fmt: skip


# ---- section 3.7: switched on in mid-crawl, batches -----------------------------------------------------------------


def _switch_claims(study: ApprenticeStudy, course: CrawlCourse) -> list[Claim]:
    told = [levels(*waiting_links(study, topic, course.name, course.chosen_on)) for topic in study.sizes]
    falls, hopeful, error = (
        over_topics(None if one is None or other is None else weight * one - other for one, other in pairs)
        for weight, pairs in (
            (1.0, [(each[1], each[2]) for each in told]),
            (0.5, [(each[3], each[4]) for each in told]),
            (1.0, [(each[5], each[6]) for each in told]),
        )
    )
    end, who = "in the mean over topics, with its interval", _who(course)
    return [
        Claim(f"§3.7, fig. 13a: the baseline expects too much of its frontier ({who})",
              f"the mean estimate of waiting links falls when they are scored again, {end}",
              as_text(falls), above_zero(falls)),
        Claim(f"§3.7, fig. 13a: the apprentice gives up a large part of the frontier ({who})",
              f"the share of waiting links above .5 falls to less than half of what it was, {end}; half of it less the "
              "share after is shown", as_text(hopeful), above_zero(hopeful)),
        Claim(f"§3.7: its estimates are more accurate ({who})",
              f"the mean square error of the estimates, against the label, falls, {end}",
              as_text(error), above_zero(error)),
        *_slope_claims(study, course),
    ]  # fmt: skip


def _slope_claims(study: ApprenticeStudy, course: CrawlCourse) -> list[Claim]:
    found = [losses.around_switch(study, topic, course.name, "truth", course.chosen_on) for topic in study.sizes]
    whole = [
        each for each in found if each.after and None not in (*each.before, *each.after, *each.baseline)
    ]  # fmt: skip
    before, after, goes_on = ([getattr(each, name) for each in whole] for name in ("before", "after", "baseline"))
    falls, less = (difference(rows, after) if whole else None for rows in (before, goes_on))
    ratios = [1 - cut for each in whole if (cut := losses.reduction(mean(each.after), mean(each.before))) is not None]
    end, who = "by truth, with its interval", _who(course)
    return [
        Claim(f"§3.7, figs. 13b, 14: the slope of the loss drops at once ({who})",
              f"the loss of a page is smaller in the R/4 pages after the switch than in the R/4 before it, {end}",
              as_text(falls), above_zero(falls)),
        Claim(f"the same, against the baseline that goes on ({who})",
              f"the loss of a page in those R/4 pages is smaller than the baseline's, {end}",
              as_text(less), above_zero(less)),
        Claim(f"§3.7, fig. 14: from 30 % to 6 % on one topic ({who})", "on some topic it drops to a fifth",
              f"the best topic drops to {share(min(ratios))} of it" if ratios else NOTHING,
              min(ratios) <= 0.2 if ratios else None),
    ]  # fmt: skip


def _batch_claims(study: ApprenticeStudy) -> list[Claim]:
    often = CrawlCourse("batch 20", f"{ONLINE}, batch 20", EVERY, CHOSEN_ON)
    found = less_lost(study, often, f"{ONLINE}, batch 300", END)
    text = f"{as_text(found)} less is lost with batches of 20 than of 300, at R by truth, on large topics"
    bounds = None if found is None or found.half is None else (found.mean - found.half, found.mean + found.half)
    no_bother = None if bounds is None or bounds[0] <= 0.05 < bounds[1] else bounds[1] <= 0.05
    return [
        Claim("§3.7: retraining more often may give mild further gains",
              "online, loss at R by truth is smaller with batches of 20 than of 300, with its interval", text,
              above_zero(found)),
        Claim("§3.7: larger batches are no disaster, one need not bother",
              "batches of 300 lose less than .05 more than those of 20, with the interval", text, no_bother),
    ]  # fmt: skip


# ---- sections 1.2 and 3.8 -------------------------------------------------------------------------------------------


def _features_in_crawls(study: ApprenticeStudy) -> Claim:
    found: dict[str, Difference | None] = {}
    for kind in ("", TAXONOMY):
        words, *others = features_online(kind)
        for course in others:
            found[course.title] = less_lost(study, replace(course, chosen_on=CHOSEN_ON), words.name)
    known = [each for each in found.values() if each is not None and each.half is not None]
    return Claim(
        "§3.8: in crawls the effect of further features cannot be told from chance",
        "at R/2 by truth, none of them differs from words alone, with its interval",
        "; ".join(f"{title} {as_text(each)}" for title, each in found.items()),
        not any(each.told_apart for each in known) if known else None,
    )


def _context_graph(study: ApprenticeStudy) -> Claim:
    course = CrawlCourse(LAYERS, f"{HALVED}, {LAYERS}", HALF_B, CHOSEN_ON)
    beside: Sequence[str] = (f"{HALVED}, {VECTOR}", HALVED, GRAPH)
    told = {name: less_lost(study, course, name) for name in beside}
    return Claim(
        "§1.2, §2.2: the apprentice is even more useful together with context graphs",
        "trained beforehand, it loses less with the layer of the source than without, at R/2 by truth, with its "
        "interval",
        "; ".join(f"{as_text(each)} less than {name}" for name, each in told.items()),
        above_zero(told[beside[0]]),
    )
