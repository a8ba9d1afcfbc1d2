"""python -m studies apprentice|lexical|paths: repeat the experiments of a paper on a recorded web."""

from studies.cli import study

study()
