"""Strategies of others, as the laboratory reads their papers and code: one file each.

They are no part of the crawler. They are told no more than its strategies are: the query, the critic, a seed.
"""

from collections.abc import Mapping

from forager.registry import Maker
from forager_lab.rivals.deep_deep import DeepDeep
from forager_lab.rivals.host_bandit import HostBandit
from forager_lab.rivals.parent_quality import ParentQuality
from forager_lab.rivals.sb import SleepingBandit
from forager_lab.rivals.tres import Tres
from forager_lab.rivals.url_keywords import UrlKeywords

RIVALS: Mapping[str, Maker] = {
    "sb": SleepingBandit,
    "tres": Tres,
    "deep-deep": DeepDeep,
    "host-bandit": HostBandit,
    "url-keywords": UrlKeywords,
    "parent-quality": ParentQuality,
}

__all__ = ["RIVALS", "DeepDeep", "HostBandit", "ParentQuality", "SleepingBandit", "Tres", "UrlKeywords"]
