"""Studies share the laboratory's cache fixture."""

from tests.lab.conftest import own_cache as own_cache
