"""The lexical method: chapter 5 of a thesis (2009) on topic-focused crawling with lexical profiles of web directories,
repeated on fine-grained topics of a recorded web.

A topic is a path in a directory. The method has the terms of a few example pages of each level of the path, and follows
the links whose anchor, context and page are near level 1, the topic. The questions:

    Does it find more than breadth-first, and others?    crawl_sections.py
    Which context length, which features, which form?    crawl_sections.py
    Which weights, if the levels are summed?             weights.py
    Do pages get their right level?                      offline.py
    Do a few examples suffice?                           offline.py
    Do the options help that the thesis wished for?      page.py

Read in this order:

    study.py             the plan: which crawlers are tried on which topics, and the run of them all
    weights.py           the search for weights, over a queue of links and over replayed crawls
    offline.py           measures of critics, without crawling
    crawl_sections.py    relevant pages counted, and the sections on crawls
    page.py              the page: its other sections

To run it: `make study-lexical WEBS=DIR` or `python -m studies lexical --web DIR/wikispeedia`. Its page is
docs/lab/lexical.md.
"""

from studies.lexical.page import write_lexical_page
from studies.lexical.study import LexicalPlan, LexicalStudy, run_lexical_study

__all__ = ["LexicalPlan", "LexicalStudy", "run_lexical_study", "write_lexical_page"]
