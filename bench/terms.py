"""What the terms of a page cost, stage by stage: `python -m bench.terms [--pages N]`.

The pages are recorded ones, cut to 5,000 characters of text. *cold*: each page once, with nothing remembered before the
first; *warm*: the best of some rounds over the same pages. Milliseconds are CPU time of one core. Beside them stand
textblob's tagger, over the same leaves, and the double loop that counts nested candidates by looking at all pairs. The
last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import log2

from bench.pages import WIKISPEEDIA, milliseconds, reference, sample
from forager.learn.lexical.cvalue import c_values, rank
from forager.learn.lexical.phrases import Candidates, Phrases, within
from forager.learn.lexical.tagger import Tagger, english
from forager.types import Page
from forager.web.page import parse

LENGTH = 5_000  # characters of a page
GOAL = 200  # pages a second, on a core

Text = Sequence[str]  # of the leaves of a page


def texts(count: int) -> list[Text]:
    """Pages of that length."""
    fetches = sample(2 * count, smallest=8_000, largest=80_000) if WIKISPEEDIA.exists() else reference(count)
    pages = [page for fetch in fetches if isinstance(page := parse(fetch), Page)]
    return [within(page.leaves, LENGTH) for page in pages if sum(map(len, page.leaves)) >= LENGTH][:count]


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def terms(phrases: Phrases, text: Text) -> object:
    return rank(phrases.candidates(text))


def tags(tagger: Tagger, text: Text) -> list[object]:
    return [sentence for leaf in text for sentence in tagger.sentences(leaf)]


def double_loop(counts: Mapping[str, int]) -> dict[str, float]:
    found = {}
    for a, frequency in counts.items():
        longer = [f for b, f in counts.items() if a != b and f" {a} " in f" {b} "]
        found[a] = log2(a.count(" ") + 2) * (frequency - sum(longer) / (len(longer) or 1))
    return found


def measured(pages: Sequence[Text]) -> dict[str, float]:
    load = seconds(english)
    cold = Phrases()
    cold_ms = seconds(lambda: [terms(cold, text) for text in pages]) / len(pages) * 1e3
    phrases, tagger = Phrases(), english()
    found: list[Candidates] = [phrases.candidates(text) for text in pages]
    rows = {
        "lexicon, once": load * 1e3,
        "terms, cold": cold_ms,
        "terms, warm": milliseconds(lambda text: terms(phrases, text), pages),
        "  of it tagging": milliseconds(lambda text: tags(tagger, text), pages),
        "  of it language": milliseconds(phrases.speaks, pages),
        "  of it C-value": milliseconds(lambda known: c_values(known.counts), found),
        "  of it ranking": milliseconds(rank, found) - milliseconds(lambda known: c_values(known.counts), found),
        "C-value by a double loop": milliseconds(lambda known: double_loop(known.counts), found, rounds=1),
    }
    rows["textblob's tagger"] = milliseconds(textblob_tags(), pages[:50], rounds=2)
    rows["candidates a page"] = sum(len(known.counts) for known in found) / len(found)
    return rows


def textblob_tags() -> Callable[[Text], object]:
    tagger = import_module("textblob.en.taggers").PatternTagger()
    return lambda text: [tagger.tag(leaf) for leaf in text if leaf]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=300)
    pages = texts(options.parse_args().pages)
    rows = measured(pages)
    print(f"{len(pages)} pages of {LENGTH:,} characters")
    for name, value in rows.items():
        print(f"{name:<26}{value:9.2f}{'' if name == 'candidates a page' else ' ms'}")
    rates = {name: 1e3 / rows[f"terms, {name}"] for name in ("cold", "warm")}
    ratio = rows["textblob's tagger"] / rows["  of it tagging"]
    for name, rate in rates.items():
        print(f"{name}: {rate:.0f} pages a second, {rate / GOAL:.1f} times the goal of {GOAL}")
    print(f"tagging: {ratio:.1f} times as fast as textblob, warm")
    print(json.dumps({"pages": len(pages), "ms": {k.strip(): round(v, 3) for k, v in rows.items()}, "rates": rates}))


if __name__ == "__main__":
    main()
