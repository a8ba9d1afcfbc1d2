"""Somebody shows the crawler the way: paths are walked page by page, or brought from elsewhere, and kept to learn from.

`open_teaching` gives a session that knows no terminal; `import_paths` reads what others have recorded.
"""

from forager.teaching.importing import Imported, import_paths, save_paths
from forager.teaching.notebook import PATHS, UNFINISHED
from forager.teaching.pages import ARCHIVE
from forager.teaching.session import Choice, Teaching, View, open_teaching

__all__ = [
    "ARCHIVE",
    "PATHS",
    "UNFINISHED",
    "Choice",
    "Imported",
    "Teaching",
    "View",
    "import_paths",
    "open_teaching",
    "save_paths",
]
