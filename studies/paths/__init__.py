"""The path models: methods that are taught beforehand how a target is reached. They are compared on course pages of
universities (webkb) and on topics (wikispeedia).

The models: the context graph, the reinforcement spider, the HMM, the MEMM (Liu, Milios & Korba 2008) and the CRF
(Sajjanhar 2008). The questions:

    How many pages until half, and most, of the courses of a new university?    study.py
    Does it matter which paths were drawn to teach?                             study.py
    Does the CRF name the pages of a path rightly?                              labelling.py
    What do the models find on topics, and is the MEMM as its paper says?       study.py
    Do the parts of course pages get their right type?                          study.py

Read in this order:

    study.py        the plan: which models are tried on what, and the run of them all
    labelling.py    the measure of the labels that the CRF gives
    page.py         the page, section by section

To run it: `make study-paths WEBS=DIR` or `python -m studies paths --courses DIR/webkb --web DIR/wikispeedia`. Its page
is docs/lab/paths.md.
"""

from studies.paths.page import write_paths_page
from studies.paths.study import PathsPlan, PathsStudy, run_paths_study

__all__ = ["PathsPlan", "PathsStudy", "run_paths_study", "write_paths_page"]
