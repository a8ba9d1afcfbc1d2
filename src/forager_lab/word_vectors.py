"""Writes the file of word vectors that comes with the package: python -m forager_lab.word_vectors OUT

It is made from two files of the package wordllama, which only this needs. See forager.learn.embeddings for its form.
Spaces in a row have the last ranks, as wordllama has them. Beginning, end and unknown token are left out.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np

from forager.errors import ForagerError
from forager.files import written_whole
from forager.learn.embeddings import BYTES, SPACE
from forager.types import Floats

VOCABULARY, VECTORS = "tokenizers/l2_supercat_tokenizer_config.json", "weights/l2_supercat_256.safetensors"
SPECIAL = 3  # tokens before the bytes
LARGEST = 127


def original() -> tuple[list[str], Floats]:
    """Tokens and vectors of wordllama, without special tokens; the bytes first."""
    try:
        from safetensors.numpy import load_file

        root = files("wordllama")
    except ImportError:
        raise ForagerError("the vectors are made from those of wordllama: pip install wordllama") from None
    ids = json.loads((root / VOCABULARY).read_text("utf-8"))["model"]["vocab"]
    (vectors,) = load_file(str(root / VECTORS)).values()
    return sorted(ids, key=ids.__getitem__)[SPECIAL:], vectors[SPECIAL:].astype(np.float32)


def write(file: Path) -> None:
    tokens, vectors = original()
    order = sorted(range(len(tokens)), key=lambda row: (row >= BYTES and set(tokens[row]) == {SPACE}, row))
    scales = np.abs(vectors).max(axis=1) / LARGEST
    numbers = np.rint(vectors / scales[:, None]).astype(np.int8)
    text = "\n".join(tokens[row] for row in order[BYTES:]).encode()
    with written_whole(file) as stream:
        np.savez(stream, tokens=np.frombuffer(text, np.uint8), numbers=numbers[order], scales=scales[order])


if __name__ == "__main__":
    write(Path(sys.argv[1]))
