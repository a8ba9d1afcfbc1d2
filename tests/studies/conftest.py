"""What tests of the studies share."""

from tests.lab.conftest import own_cache

__all__ = ["own_cache"]
