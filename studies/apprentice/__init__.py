"""The apprentice: section 3 of Chakrabarti, Punera & Subramanyam (2002), "Accelerated focused crawling through online
relevance feedback", repeated on the topics of a recorded web.

The apprentice learns during a crawl which links pay, from the words around them. The questions:

    Which claims of the paper hold here?               the first table; claims.py, offline_claims.py
    How much less is lost than with best-first?        the tables after it; losses.py
    What do the words around a link say of its target? figures 4 to 9; offline.py
    What does an apprentice trained beforehand do?     figures 10 to 12; crawl_sections.py
    What if it is switched on in mid-crawl?            figures 13 and 14; crawl_sections.py
    How often must it learn?                           section 3.7; crawl_sections.py
    Which features, which start, which window?         sections 1.2, 2.2, 2.3, 3.8; further_sections.py

Read in this order:

    set_ups.py           the plan: which crawls there are, and the baseline of each
    study.py             the run of them all
    crawls.py            how one crawl is made, and the instances that it gives to learn from
    critics.py           a critic with many classes, and one that tells the layers of a context graph, too
    offline.py           measures of instances, without crawling
    offline_features.py  the same for further features
    losses.py            measures of crawls
    courses.py           these measures at R/4, R/2 and R, as tables
    claims.py            the claims on crawls; offline_claims.py: the others
    page.py              the page: the first tables and figures 4 to 9
    crawl_sections.py    figures 10 to 14; further_sections.py: the rest

To run it: `make study-apprentice WEBS=DIR` or `python -m studies apprentice --web DIR/wikispeedia`. Its page is
docs/lab/apprentice.md.
"""

from studies.apprentice.claims import apprentice_claims
from studies.apprentice.page import write_apprentice_page
from studies.apprentice.set_ups import STEERED_BY, ApprenticePlan
from studies.apprentice.study import ApprenticeStudy, run_apprentice_study

__all__ = [
    "STEERED_BY",
    "ApprenticePlan",
    "ApprenticeStudy",
    "apprentice_claims",
    "run_apprentice_study",
    "write_apprentice_page",
]
