"""The tutorial about course pages, typed as it stands there, gives what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.network.serving import ROOT

START = ROOT / "docs" / "start"
SITES = ("birch", "hazel", "oak")


@contextmanager
def universities() -> Iterator[int]:
    """Their port, while this lasts."""
    command = [sys.executable, str(START / "universities.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield int(re.findall(r":(\d+);", server.stdout.readline())[0])
        finally:
            server.terminate()


def forager(folder: Path, words: str, typed: str = "") -> str:
    run = subprocess.run(
        [sys.executable, "-m", "forager", *words.split()],
        input=typed, capture_output=True, text=True, check=False, timeout=120, cwd=folder,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


def test_the_tutorial_about_course_pages(tmp_path: Path) -> None:
    text = (START / "show-the-way.md").read_text(encoding="utf-8")
    (toml,), (typed,) = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) for kind in ("toml", "text"))
    starts = " ".join(f"--start http://www.cs.{name}.test/" for name in ("ash", "cedar", "elm"))
    assert starts.split(" --")[-1] in text
    (tmp_path / "home-pages.txt").write_text("".join(f"http://www.cs.{name}.test/\n" for name in SITES))
    with universities() as port:
        (tmp_path / "teach.toml").write_text(toml.replace("8124", str(port)))
        said = forager(tmp_path, f"teach record lessons --config teach.toml {starts}", typed)
        assert "12 paths in lessons/paths.jsonl: 6 goal, 6 fail" in said
        forager(tmp_path, "train crf --paths lessons/paths.jsonl --out taught")
        more = "--pages-per-site 20 --contact you@example.org"
        forager(tmp_path, f"new courses --taught taught --seeds home-pages.txt {more}")
        config = tmp_path / "courses" / "forager.toml"
        resolve = f'resolve = {{ "*.test" = "127.0.0.1:{port}" }}\n'
        config.write_text(config.read_text().replace("delay = 1.0", "delay = 0.05") + resolve)
        forager(tmp_path, "crawl courses")
    assert "24 courses in courses.jsonl" in forager(tmp_path, "export courses courses.jsonl --format courses")
    found = [json.loads(line) for line in (tmp_path / "courses.jsonl").read_text().splitlines()]
    assert {course["site"] for course in found} == {f"{name}.test" for name in SITES}
    assert {part["type"] for part in found[0]["parts"]} >= {"syllabus", "lectures", "assignments", "exams"}
