"""A project: a folder with a crawl that can be stopped and resumed, and with the pages that it found.

python examples/project_in_python.py examples/crawl.toml owls https://example.org/owls https://example.org/nests
"""

import sys
from pathlib import Path

from forager import Project

settings, folder, seeds = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2]), sys.argv[3:]
project = Project.create(folder, settings + "\n[stop]\npages = 10\n", seeds)
print(project.run().stopped)

# You may edit the file by hand, too. The crawl goes on where it stopped, today or next week.
(folder / "forager.toml").write_text(settings + "\n[stop]\npages = 20\n", encoding="utf-8")
project = Project(folder)
print(project.run().stopped)

for page in project.pages(order="relevance", limit=5):
    print(f"{page.relevance:.2f}  {page.url}  {page.title}")
print(project.export(folder / "pages.jsonl", min_relevance=0.5), "relevant pages in", folder / "pages.jsonl")
