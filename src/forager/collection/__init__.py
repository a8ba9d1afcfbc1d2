"""From a crawl to what people do with its pages.

export        the collection as one file: JSON lines, WARC or Parquet
review        how good it is, by people's verdicts on a random sample
level_review  on which level of a topic path its pages are, by people
recover       builds the catalogue again from the archive
rejudge       judges all pages again with a critic that has learnt more
explain       what became of a link, and what made its score
feed          new pages as an Atom feed
herald        tells a webhook of new pages while a crawl runs
courses/      course pages as records with typed parts
"""

from forager.collection.feed import atom_feed
from forager.collection.herald import Herald
from forager.collection.level_review import level_agreement, level_sample, topic_path
from forager.collection.recover import Recovery
from forager.collection.review import (
    Agreement,
    Disagreement,
    JudgeReport,
    Precision,
    Proportion,
    agreement,
    judge_report,
    sample,
)

__all__ = [
    "Agreement",
    "Disagreement",
    "Herald",
    "JudgeReport",
    "Precision",
    "Proportion",
    "Recovery",
    "agreement",
    "atom_feed",
    "judge_report",
    "level_agreement",
    "level_sample",
    "sample",
    "topic_path",
]
