"""From a crawl to what people do with its pages.

export     the collection as one file: JSON lines, WARC or Parquet
review     how good it is, by people's verdicts on a random sample
recover    builds the catalogue again from the archive
rejudge    judges all pages again with a critic that has learnt more
explain    the words behind the score of a link
courses/   course pages as records with typed parts
"""

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
    "JudgeReport",
    "Precision",
    "Proportion",
    "Recovery",
    "agreement",
    "judge_report",
    "sample",
]
