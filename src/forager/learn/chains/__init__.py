"""Chain models of the way to a target, apart from crawling: `memm` and `crf`, over rows of numbers."""
