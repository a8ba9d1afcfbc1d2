"""From what a user shows to a strategy that knows the way.

session          a person walks from page to page and says what the goal is; knows no terminal
notebook         the paths of a session, on disk
pages            the pages of a session: fetched politely, once, and kept as WARC
importing        paths that were recorded elsewhere: HAR files, Wikispeedia's, our own
labelled_web     a recorded web whose pages have labels
training_webs    what a strategy can be trained on: shown paths, links in a file, a finished crawl, a labelled web
train_strategy   trains a strategy there, tests it, and saves it for `forager new --taught`
"""

from forager.teaching.importing import ImportedPaths, import_paths, save_paths
from forager.teaching.notebook import PATHS, UNFINISHED
from forager.teaching.pages import ARCHIVE
from forager.teaching.session import NumberedLink, PageView, TeachingSession, open_teaching

__all__ = [
    "ARCHIVE",
    "PATHS",
    "UNFINISHED",
    "ImportedPaths",
    "NumberedLink",
    "PageView",
    "TeachingSession",
    "import_paths",
    "open_teaching",
    "save_paths",
]
