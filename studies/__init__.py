"""The experiments of three papers, repeated on recorded webs. Each study writes a page into docs/lab.

    apprentice    a learner that scores links while it crawls (Chakrabarti, Punera & Subramanyam, WWW 2002)
    lexical       crawling by the terms of a web directory (a thesis of 2009)
    paths         models of the path to a target, up to MEMM and CRF (a paper and a thesis of 2008)

Each study is a folder. Read its `__init__` first, then study.py (the plan and the crawls), then the measures, then
page.py. What the studies share:

    kept_parts    finished parts on disk, so that a study can be stopped and started again
    page          the page: its sections, tables and pictures

The studies are not installed. Run them from a checkout:

    python -m studies apprentice --web DIR
    make study-apprentice WEBS=DIR          # DIR holds wikispeedia and webkb
"""
