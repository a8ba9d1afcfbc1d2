"""Vectors for texts, from static word embeddings that come inside a package: nothing is downloaded.

    v(text) = mean of the vectors of its tokens, scaled to length 1

The package is wordllama. Only two of its files are read: to import it would import a web client too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from forager.errors import ForagerError
from forager.types import Floats

VOCABULARY, VECTORS = "tokenizers/l2_supercat_tokenizer_config.json", "weights/l2_supercat_256.safetensors"


def embed(texts: Sequence[str]) -> Floats:
    """(texts, dimensions): a row of length 1 for each text, or zeros if it has no token."""
    tokenizer, vectors = _model()
    encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    means = np.zeros((len(texts), vectors.shape[1]), np.float32)
    for row, tokens in enumerate(encoded):
        if tokens.ids:
            means[row] = vectors[tokens.ids].mean(axis=0)
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.where(norms > 0, norms, 1), np.float32)


@cache
def _model() -> tuple[Any, Floats]:
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        root = files("wordllama")
    except ImportError:
        raise ForagerError("judging by a sentence needs word embeddings: pip install 'forager[sentence]'") from None
    tokenizer = Tokenizer.from_file(str(root / VOCABULARY))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (vectors,) = load_file(str(root / VECTORS)).values()
    return tokenizer, vectors.astype(np.float32)
