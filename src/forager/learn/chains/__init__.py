"""Chain models of the path to a target: `memm` and `crf`. They know rows of numbers and nothing of crawling."""
