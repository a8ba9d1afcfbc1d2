"""A crawl seen from outside: the log of what happens, and figures for Prometheus. It changes nothing of the crawl."""

from forager.watch.log import CrawlLog, open_log
from forager.watch.metrics import CrawlFigures, serve_metrics

__all__ = ["CrawlFigures", "CrawlLog", "open_log", "serve_metrics"]
