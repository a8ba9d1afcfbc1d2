"""What the path models learn from: paths that somebody has shown, and sequences, layers and values of a known web."""

from forager.paths.graph import Edges, LinkGraph, read_edges
from forager.paths.ground import Ground, Reading, Teachable, ground_of_paths
from forager.paths.har import read_har
from forager.paths.layers import (
    BackwardTree,
    Sequences,
    backward_tree,
    halves,
    hop_layers,
    hop_states,
    leaks,
    walks,
)
from forager.paths.preference import Preference, folds, preference, visit_with
from forager.paths.shown import (
    Gap,
    Outcome,
    Shown,
    ShownPath,
    Step,
    UsedOnce,
    gaps,
    label_set,
    load_paths,
    prefix,
    read_paths,
    used_once,
    write_paths,
)
from forager.paths.values import Bins, bins, link_values, page_values
from forager.paths.wikispeedia import articles, read_wikispeedia

__all__ = [
    "BackwardTree",
    "Bins",
    "Edges",
    "Gap",
    "Ground",
    "LinkGraph",
    "Outcome",
    "Preference",
    "Reading",
    "Sequences",
    "Shown",
    "ShownPath",
    "Step",
    "Teachable",
    "UsedOnce",
    "articles",
    "backward_tree",
    "bins",
    "folds",
    "gaps",
    "ground_of_paths",
    "halves",
    "hop_layers",
    "hop_states",
    "label_set",
    "leaks",
    "link_values",
    "load_paths",
    "page_values",
    "preference",
    "prefix",
    "read_edges",
    "read_har",
    "read_paths",
    "read_wikispeedia",
    "used_once",
    "visit_with",
    "walks",
    "write_paths",
]
