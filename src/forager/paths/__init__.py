"""What path models learn from: paths that somebody has shown, and the links of a web whose targets are known.

shown        paths and the file they are kept in
importers    paths from HAR files and Wikispeedia, links from a file of edges
graph        the links of a web as arrays
ground       a web to learn on, and a test of what a strategy has learnt
layers       distance to the targets: layers, random walks, values
sampling     paths drawn from a ground
"""

from forager.paths.graph import LinkGraph
from forager.paths.ground import (
    NO_STATE,
    Ground,
    PageReader,
    Preference,
    Teachable,
    folds,
    ground_of_paths,
    preference,
    visit_with,
)
from forager.paths.importers import EdgeList, articles, read_edges, read_har, read_wikispeedia
from forager.paths.layers import (
    BackwardTree,
    PageSequences,
    ValueBins,
    backward_tree,
    bins,
    halves,
    hop_layers,
    hop_states,
    leaks,
    link_values,
    page_values,
    walks,
)
from forager.paths.sampling import sample_paths
from forager.paths.shown import (
    LabelUsedOnce,
    LoadedPaths,
    PathGap,
    PathOutcome,
    PathStep,
    ShownPath,
    gaps,
    label_set,
    load_paths,
    numbered_lines,
    prefix,
    read_paths,
    used_once,
    write_paths,
)

__all__ = [
    "NO_STATE",
    "BackwardTree",
    "EdgeList",
    "Ground",
    "LabelUsedOnce",
    "LinkGraph",
    "LoadedPaths",
    "PageReader",
    "PageSequences",
    "PathGap",
    "PathOutcome",
    "PathStep",
    "Preference",
    "ShownPath",
    "Teachable",
    "ValueBins",
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
    "numbered_lines",
    "page_values",
    "preference",
    "prefix",
    "read_edges",
    "read_har",
    "read_paths",
    "read_wikispeedia",
    "sample_paths",
    "used_once",
    "visit_with",
    "walks",
    "write_paths",
]
