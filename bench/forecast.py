"""How good forecasts are: python -m bench.forecast --webs DIR [--jobs 2] [--kept DIR] [--picture FILE]

The default strategy crawls recorded webs and a procedural one. Every 50 fetches it says what the next 100 and the next
500 will bring, and what share of the relevant pages that can be reached it has found; then it goes on, and what came is
compared with it. Beside it stand two simpler forecasts: the chances as the strategy gives them, and the yield of the
last n fetches. Relevant is what the critic takes for relevant. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from forager.crawl.forecast import EVERY as LOOK
from forager.crawl.forecast import Forecaster
from forager.crawl.loop import Crawl
from forager.registry import Spec
from forager.store.status import Forecast
from forager.types import RELEVANT, GivesChances, Url
from forager.web.scope import Admission, Scope
from forager_lab.experiment import laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, open_crawl, taught_for, topic_trial
from forager_lab.workers import Failed, work

EVERY = 50  # fetches between two points
AHEAD = (100, 500)
LEAST = 0.02  # the yield at which a crawl would stop


class Cell(NamedTuple):
    """One crawl."""

    web: str
    topic: str
    run: int
    pages: int
    dead: bool = True  # links that lead out of the recorded web are followed
    chose: bool = False  # the settings of the forecast were chosen on it


CELLS = (
    Cell("wikispeedia", "IT", 1, 1200, dead=False),
    Cell("uic", "it_library", 1, 1500, dead=False),
    Cell("procedural", "Business", 1, 1200),
    Cell("wikispeedia", "Religion", 1, 1200, dead=False),
    Cell("uic", "news", 1, 1800, dead=False),
    Cell("wikispeedia", "Music", 1, 300),
    Cell("procedural", "Arts", 1, 1200),
    Cell("wikispeedia", "Science.Biology", 1, 1200, dead=False),
    Cell("wikispeedia", "Religion", 0, 1200, dead=False, chose=True),
    Cell("wikispeedia", "Music", 0, 1200, dead=False, chose=True),
    Cell("uic", "news", 0, 1800, dead=False, chose=True),
    Cell("procedural", "Arts", 0, 1200, chose=True),
)


@dataclass(frozen=True)
class Point:
    """A forecast, and what came."""

    fetches: int
    ahead: int
    expected: float
    low: float
    high: float
    chances: float  # summed, of the best links, as the strategy gives them
    lately: float  # what the next n would bring if they were like the last n
    came: int
    found: int  # until then


@dataclass(frozen=True)
class Course:
    """What was forecast in one crawl."""

    points: list[Point]
    shares: list[tuple[float, float, float, float]]  # forecast, low, high, true
    fetches: int
    found: int
    reachable: int


@dataclass(frozen=True)
class OnlyRecorded(Scope):
    """Links that lead out of the recorded web are out of scope: on the live web most of them would lead to pages."""

    lab: Laboratory | None = None

    def admit(self, targets: Sequence[Url], depth: int) -> Admission:
        assert self.lab is not None
        admission, web = super().admit(targets, depth), self.lab.web
        rows = [row for row in admission.rows if web.final(targets[row]) in web.truth.labels]
        return Admission(rows, admission.rejected)


class Watcher:
    """Sees every fetch of a crawl in the place of its forecaster, and asks forecasters of its own."""

    def __init__(self, crawl: Crawl) -> None:
        self.forecasters = {ahead: Forecaster(crawl.strategy, ahead) for ahead in AHEAD}
        self.outcomes: list[bool] = []
        self.made: list[tuple[int, Forecast, float]] = []  # n, forecast, summed chances
        self._crawl = crawl
        self._own = crawl.state.forecaster.saw
        crawl.state.forecaster.saw = self._saw  # type: ignore[method-assign]

    def _saw(self, score: float, *, relevant: bool) -> None:
        self._own(score, relevant=relevant)
        self.outcomes.append(relevant)
        for ahead, forecaster in self.forecasters.items():
            forecaster.saw(score, relevant=relevant)
            forecaster.look_if_due(self._crawl.frontier)
            made = forecaster.forecast(self._crawl.frontier) if len(self.outcomes) % EVERY == 0 else None
            if made:
                self.made.append((ahead, made, self._chances(ahead)))

    def _chances(self, ahead: int) -> float:
        strategy, scores = self._crawl.strategy, np.sort(self._crawl.frontier.waiting_scores)
        assert isinstance(strategy, GivesChances)
        return float(strategy.chances(scores[-ahead:]).sum())


def follow(webs: Path, kept: Path | None, cell: Cell) -> Course:
    """What was forecast in a crawl, if it is kept; else it is crawled."""
    file = kept / f"{cell.web.replace(':', '-')}-{cell.topic}-{cell.run}.json" if kept else None
    if file and file.exists():
        return msgspec.json.decode(file.read_bytes(), type=Course)
    course = crawled(webs, cell)
    if file:
        file.write_bytes(msgspec.json.encode(course))
    return course


def crawled(webs: Path, cell: Cell) -> Course:
    """Crawl, and compare."""
    lab = laboratory(cell.web if cell.web.startswith("procedural") else str(webs / cell.web))
    trial = topic_trial(lab, cell.topic, Spec.parse("naive-bayes"), run=cell.run, seed=0, pages=cell.pages)
    if not cell.dead:
        trial = replace(trial, scope=OnlyRecorded(lab=lab))
    crawl = open_crawl(lab, trial, taught_for(lab, trial, Spec.parse("default")))
    watcher = Watcher(crawl)
    crawl.run()
    found = np.concatenate(([0], np.cumsum(watcher.outcomes)))
    points = [_point(made, ahead, chances, found) for ahead, made, chances in watcher.made]
    reachable = _reachable(lab, trial)
    shares = [
        (made.share, made.share_low, made.share_high, made.found / reachable)
        for ahead, made, _ in watcher.made
        if ahead == AHEAD[-1]
    ]
    return Course([each for each in points if each], shares, len(found) - 1, int(found[-1]), reachable)


def _point(made: Forecast, ahead: int, chances: float, found: NDArray[np.int64]) -> Point | None:
    now = made.made
    if now + ahead >= len(found):
        return None
    before = max(0, now - ahead)
    lately = float(found[now] - found[before]) / (now - before) * ahead
    came = int(found[now + ahead] - found[now])
    return Point(now, ahead, made.expected, made.low, made.high, chances, lately, came, made.found)


def _reachable(lab: Laboratory, trial: Trial) -> int:
    """How many pages that the critic takes for relevant can be reached from the seeds."""
    urls = sorted(lab.graph.reachable(trial.seeds, lab.web.truth.labels))
    judged = (trial.critic.judge([page])[0].relevance for page in lab.pages(urls) if page is not None)
    return sum(relevance >= RELEVANT for relevance in judged)


# ---- figures


def figures(points: Sequence[Point]) -> dict[str, float]:
    """Of the points of one n."""
    came = np.array([point.came for point in points], float)

    def off(*values: float) -> float:
        return float(np.abs(np.array(values) - came).mean())

    inside = [np.floor(point.low) <= point.came <= np.ceil(point.high) for point in points]
    return {
        "points": len(points),
        "came": float(came.mean()),
        "forecast": float(np.mean([point.expected for point in points])),
        "off": off(*(point.expected for point in points)),
        "off_chances": off(*(point.chances for point in points)),
        "off_lately": off(*(point.lately for point in points)),
        "inside": float(np.mean(inside)),
    }


def share_figures(course: Course) -> dict[str, float]:
    said, low, high, true = np.array(course.shares).T
    inside = (true >= low - 0.005) & (true <= high + 0.005)
    return {
        "off": float(np.abs(said - true).mean()),
        "bias": float((said - true).mean()),
        "inside": float(inside.mean()),
    }


def stop_figures(course: Course) -> dict[str, float] | None:
    """Where `[stop] yield = 0.02` would have ended the crawl, and with how much of what it found in the end."""
    for point in course.points:
        late = point.ahead == AHEAD[-1] <= point.fetches
        if late and point.fetches % LOOK == 0 and point.expected < LEAST * point.ahead:
            return {"fetches": point.fetches, "came": point.came, "share": point.found / course.reachable}
    return None


def summary(cell: Cell, course: Course) -> dict[str, object]:
    by_n = {str(n): figures([point for point in course.points if point.ahead == n]) for n in AHEAD}
    kept = {"fetches": course.fetches, "found": course.found, "reachable": course.reachable}
    return {**cell._asdict(), **kept, **by_n, "share": share_figures(course), "stop": stop_figures(course)}


def row(found: dict[str, object], n: int) -> str:
    said = found[str(n)]
    assert isinstance(said, dict)
    dead = "" if found["dead"] else ", no dead links"
    values = (f"{said[key]:.1f}" for key in ("came", "forecast", "off", "off_chances", "off_lately"))
    return f"| {found['web']} {found['topic']}{dead} | {said['points']} | {' | '.join(values)} | {said['inside']:.2f} |"


def share_row(found: dict[str, object]) -> str:
    said = found["share"]
    assert isinstance(said, dict)
    dead = "" if found["dead"] else ", no dead links"
    kept = f"{found['fetches']} | {found['found']} of {found['reachable']}"
    how_good = f"{said['off']:.3f} | {said['bias']:+.3f} | {said['inside']:.2f}"
    stop = found["stop"]
    how_good += f" | {stop['fetches']}, {stop['share']:.3f}" if isinstance(stop, dict) else " | not"
    return f"| {found['web']} {found['topic']}{dead} | {kept} | {how_good} |"


def draw(courses: Sequence[tuple[Cell, Course]], file: Path) -> None:
    """What the next 500 fetches were said to bring, and what they brought."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "forager", "font.size": 8})
    figure, all_axes = plt.subplots(2, (len(courses) + 1) // 2, figsize=(9.5, 4.6), squeeze=False)
    for axes, (cell, course) in zip(all_axes.ravel(), courses, strict=False):
        points = [point for point in course.points if point.ahead == AHEAD[-1]]
        at = [point.fetches for point in points]
        axes.fill_between(at, [p.low for p in points], [p.high for p in points], color="#2f7fc1", alpha=0.25, lw=0)
        axes.plot(at, [p.expected for p in points], color="#2f7fc1", label="forecast")
        axes.plot(at, [p.came for p in points], color="#1c1c1c", lw=1, label="came")
        axes.plot(at, [p.lately for p in points], color="#c77700", lw=0.8, ls="--", label="as the last 500")
        axes.set_title(f"{cell.web.partition(':')[0]} {cell.topic}")
        axes.set_yscale("symlog", linthresh=10)
        axes.set_ylim(0, None)
    figure.legend(*all_axes[0][0].get_legend_handles_labels(), loc="lower right", ncols=3, frameon=False)
    figure.supxlabel("fetches")
    figure.supylabel("relevant pages in the next 500")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--webs", type=Path, required=True, help="folder with wikispeedia and uic")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--picture", type=Path)
    options.add_argument("--kept", type=Path, help="folder for finished crawls, so that a run that was stopped goes on")
    given = options.parse_args()
    courses: dict[Cell, Course] = {}
    for cell, course in work(
        CELLS, partial(follow, given.webs, given.kept), given.jobs, lambda cell: (cell.web, cell.topic)
    ):
        if isinstance(course, Failed):
            raise RuntimeError(f"{cell} failed: {course.why}\n{course.trace}")
        courses[cell] = course
        print(json.dumps(summary(cell, course)), flush=True)
    for chose in (True, False):
        print(f"\n{'chose the settings' if chose else 'chose nothing'}")
        rows = [summary(cell, courses[cell]) for cell in CELLS if cell.chose == chose]
        for n in AHEAD:
            print(*(f"n={n} {row(each, n)}" for each in rows), sep="\n")
        ended = [each for each in rows if not str(each["web"]).startswith("procedural")]  # that web has no end
        print(*(share_row(each) for each in ended), sep="\n")
    if given.picture:
        draw([(cell, courses[cell]) for cell in CELLS if not cell.chose], given.picture)
    print(json.dumps([{**cell._asdict(), **asdict(courses[cell])} for cell in CELLS]))


if __name__ == "__main__":
    main()
