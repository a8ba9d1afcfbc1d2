"""Links by the levels of a topic path, as the thesis has it. See the package's docstring.

A link's context, content and page have a level each (links.py), and it scores

    - context * content * page        or        - (a context + b content + c page)

Ties go in order of discovery. The thesis does not say what happens to a link found again; here it takes its best score.
"""

from __future__ import annotations

import numpy as np

from forager.strategies.lexical.links import LinkLevels, LinkScore
from forager.types import Combine, Floats, Page, Region, ScoredLinks, Visit


class LexicalStrategy:
    """The strategy of the thesis: links by their levels. state = the three levels of a link"""

    def __init__(self, links: LinkLevels, form: LinkScore, combine: Combine, navigation: float) -> None:
        self.links, self.form, self.combine, self.navigation = links, form, combine, navigation

    def score(self, visit: Visit) -> ScoredLinks:
        levels = self.links(visit)
        return ScoredLinks(-self.link_scores(visit, levels), state=levels)

    def link_scores(self, visit: Visit, levels: Floats) -> Floats:
        """The combined levels of each link: the lowest goes first."""
        aside = np.isin(visit.page.regions[visit.links.first_leaf], (Region.NAVIGATION, Region.FOOTER))
        return np.where(aside, np.float32(self.navigation), np.float32(1)) * self.form(levels)

    def page_level(self, page: Page) -> int:
        """The level of a page, as in the third feature."""
        return self.links.page(page)

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        return self.links.explain(visit, link)
