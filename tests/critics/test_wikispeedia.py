"""Calibration on real pages: 40 wanted and 600 others to train on, the others to judge."""

from __future__ import annotations

import csv

import numpy as np
from fastwarc.warc import ArchiveIterator, WarcRecordType

from forager.critics.naive_bayes import NaiveBayes
from forager.learn.calibration import roc_auc
from forager.learn.focus import in_focus
from forager.types import Fetch, Page, Url
from forager.web.page import parse

from .pages import wikispeedia

TOPIC = "subject.Science.Biology"


def labelled(most: int = 1200) -> list[tuple[Page, str]]:
    """Every fourth page of the recorded web, with "a" for the topic and "b" for the rest."""
    folder = wikispeedia()
    with (folder / "labels.tsv").open(encoding="utf-8", newline="") as file:
        subjects = {row["url"]: row["subjects"].split(",") for row in csv.DictReader(file, delimiter="\t")}
    found: list[tuple[Page, str]] = []
    with (folder / "wikispeedia.warc.gz").open("rb") as file:
        for i, record in enumerate(ArchiveIterator(file, record_types=WarcRecordType.response)):
            if i % 4 == 0 and len(found) < most:
                url = record.headers["WARC-Target-URI"]
                page = parse(Fetch(Url(url), record.reader.read()))
                if isinstance(page, Page):
                    found.append((page, "a" if any(in_focus(s, [TOPIC]) for s in subjects[url]) else "b"))
    return found


def test_calibration_on_real_pages() -> None:
    pages = labelled()
    rng = np.random.default_rng(0)
    order = [pages[i] for i in rng.permutation(len(pages))]
    wanted = [pair for pair in order if pair[1] == "a"]
    others = [pair for pair in order if pair[1] == "b"]
    training, judged = wanted[:40] + others[:600], wanted[40:] + others[600:]
    critic = NaiveBayes(focus=["a"])
    critic.fit((page for page, _ in training), (label for _, label in training))
    said = critic.judge([page for page, _ in judged])
    truth = np.array([label == "a" for _, label in judged])
    raw, relevance = np.array([j.raw for j in said]), np.array([j.relevance for j in said])
    loss = [-np.mean(np.log(np.maximum(np.where(truth, p, 1 - p), 1e-12))) for p in (raw, relevance)]
    assert loss[1] < 0.35
    assert loss[1] < loss[0] / 3
    assert roc_auc(relevance, truth) > max(0.95, roc_auc(raw, truth))
    assert len(np.unique(relevance.astype(np.float32))) > 0.98 * len(relevance)
