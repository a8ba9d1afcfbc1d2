"""What waits and in which order: ids, lanes, sites and scores, nothing of the web."""

from forager.frontier.columns import Column
from forager.frontier.lanes import Budgets, LaneFrontier, LaneState
from forager.frontier.url_table import Seen

__all__ = ["Budgets", "Column", "LaneFrontier", "LaneState", "Seen"]
