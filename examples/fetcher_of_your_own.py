"""A fetcher of your own. It says what is at an address: here, the HTML files of a folder, as a web server would.

python examples/fetcher_of_your_own.py FOLDER WORD
"""

import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from forager import Crawl, CrawlConfig
from forager.config import FrontierConfig, ScopeConfig
from forager.critics import Predicate
from forager.types import Failure, Fetch, Reason, Redirect, Url


class FolderFetcher:
    """http://files.test/a/b.html is the file a/b.html of the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    async def fetch(self, url: Url) -> Fetch | Redirect | Failure:
        file = (self.folder / unquote(urlsplit(url).path).lstrip("/")).resolve()
        if file.is_dir():
            return Redirect(url, Url(url.rstrip("/") + "/index.html"))
        if not file.is_file() or not file.is_relative_to(self.folder):
            return Failure(url, Reason.NOT_FOUND)
        return Fetch(url, file.read_bytes())


folder, word = Path(sys.argv[1]), sys.argv[2]
seeds, scope = ["http://files.test/index.html"], ScopeConfig(within="host")  # links to other hosts are not followed
config = CrawlConfig(seeds=seeds, scope=scope, frontier=FrontierConfig(delay=0))
for visit in Crawl(config, critic=Predicate(keywords=[word]), fetcher=FolderFetcher(folder)):
    print(f"{visit.judgement.relevance:.2f}  {visit.page.url}  {visit.page.title}")
