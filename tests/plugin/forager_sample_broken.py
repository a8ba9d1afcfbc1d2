"""A plug-in whose own dependency is not installed."""

import missing_dependency  # type: ignore[import-not-found]

Critic = missing_dependency.Critic
