"""The frontier: which links wait, and in which order. It knows ids, lanes, sites and scores, and nothing of the web."""

from forager.frontier.columns import Column
from forager.frontier.lanes import LaneFrontier
from forager.frontier.places import Budgets, LaneState
from forager.frontier.url_table import HashTable

__all__ = ["Budgets", "Column", "HashTable", "LaneFrontier", "LaneState"]
