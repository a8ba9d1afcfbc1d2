"""Learns during the crawl which links of a page pay: for any topic, and some hundred pages or more.

The apprentice of Chakrabarti, Punera & Subramanyam (2002).

The critic judges pages after they are fetched. The apprentice sees only the page u with a link (u,v), and predicts what
the critic will say of v. Its features are the words around the link, each with its offset in the leaves of the page.
Every link whose two ends have been judged is an instance to learn from. After each batch of pages the apprentice is
trained, and all links that wait are scored again with the new weights. Before it has learnt anything, a link scores as
in the baseline: by the relevance of its page.

    strategy     Apprentice: learning and scoring
    features     LinkContext: the words around links
"""

from forager.strategies.apprentice.strategy import Apprentice

__all__ = ["Apprentice"]
