"""Fixtures that tests of the laboratory share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forager_lab import experiment


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of parsed pages for the tests alone. Webs and critics in memory are forgotten before and after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORAGER_CACHE", str(tmp_path_factory.mktemp("cache")))
        _forget()
        yield
    _forget()


def _forget() -> None:
    experiment._laboratory.cache_clear()
    experiment.trial_of.cache_clear()
