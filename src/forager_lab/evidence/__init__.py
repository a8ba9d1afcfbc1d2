"""The evidence for one strategy: all figures about it from the cells of a matrix, on one page.

rows: the rows of the page, and what is counted in them. page: how they are written.
"""

from forager_lab.evidence.page import show_evidence
from forager_lab.evidence.rows import EvidenceRow

__all__ = ["EvidenceRow", "show_evidence"]
