"""Why links of a project were fetched, or why not yet: what became of each, and what made its score.

python examples/why_a_link.py owls https://example.org/owls https://example.org/nests
"""

import asyncio
import sys

from forager import Project

project = Project(sys.argv[1])  # a folder that `forager new` or Project.create made
for url in sys.argv[2:]:
    story = asyncio.run(project.explain(url))
    print(f"{story.fate}  {story.url}  {story.reason}")
    print(f"  score {story.score:.2f}, found on {len(story.found_on)} pages")
    if story.place:
        print(f"  {story.place.ahead} of {story.place.waiting} links that wait come before it")
    for words, weight in story.signals:
        print(f"  {weight:+.2f}  {words}")
