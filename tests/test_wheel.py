"""The wheel works where nothing else is: both packages, in an empty environment, in an empty home.

pip downloads the dependencies once, from the registry that it is configured for, into the cache of pytest. Later runs
need no registry until the dependencies change.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILT = ("src", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")  # what a build reads
LEARNS = """
from forager.critics import CRITICS
from forager.types import Fetch
from forager.web.page import parse

texts = ["owls hoot at night", "owls hunt mice", "owls nest in trees", "banks lend money", "rates rise", "shares fall"]
pages = [parse(Fetch("http://a.test/", f"<p>{text} on page {number}".encode())) for number, text in enumerate(texts)]
described = CRITICS["description"](sentence="owls and other birds")
learnt = [CRITICS[name](focus=["wanted"]) for name in ("svm", "mlp")]
for critic in learnt:
    critic.fit(pages, ["wanted"] * 3 + ["other"] * 3)
judged = [critic.judge(pages) for critic in (described, *learnt)]
print(*(each[0].relevance > each[3].relevance for each in judged))
"""  # critics that learn or read, in the plain install
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info")


def test_the_wheel_works_in_an_empty_environment(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    assert pytestconfig.cache
    downloads = downloaded(pytestconfig.cache.mkdir("wheels"))
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(downloads), "PYTHONPATH": ""}
    wheel = build(tmp_path, offline)
    check_files(wheel)

    venv, home = tmp_path / "venv", tmp_path / "home"
    home.mkdir()
    run([sys.executable, "-m", "venv", "--without-pip", venv], home, offline)
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python"]
    run([*pip, "install", "--no-compile", "-c", ROOT / "constraints.txt", wheel], home, offline)

    bare = {"HOME": str(home), "PATH": os.defpath, "PYTHONPATH": ""}
    forager = venv / "bin" / "forager"
    assert "best-first" in run([forager, "strategies"], home, bare)
    assert run([venv / "bin" / "python", "-c", LEARNS], home, bare) == "True True True\n"
    assert "report.html" in run([forager, "demo", "--pages", "5", "--folder", home / "demo", "--quiet"], home, bare)
    assert (home / "demo" / "report.html").stat().st_size > 1_000
    if "--version" in run([forager, "--help"], home, bare):
        assert PROJECT["project"]["version"] in run([forager, "--version"], home, bare)


def downloaded(folder: Path) -> Path:
    """A folder with the wheels of all dependencies, and of what builds the wheel."""
    wanted = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    constraints = ROOT / "constraints.txt"
    state = hashlib.sha256(repr((wanted, sys.version_info[:2], constraints.read_text())).encode()).hexdigest()
    if (folder / "state").exists() and (folder / "state").read_text() == state:
        return folder
    shutil.rmtree(folder)
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder]
    probe = [*download, "--no-deps", "--retries", "1", "--timeout", "15", wanted[0]]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no registry of packages answers pip, and the dependencies are not downloaded yet")
    run([*download, "--only-binary", ":all:", "-c", constraints, *wanted], ROOT, os.environ)
    (folder / "state").write_text(state)
    return folder


def build(folder: Path, environment: Mapping[str, str]) -> Path:
    """The wheel, built from a copy of the sources: a build leaves files behind."""
    copy = folder / "copy"
    copy.mkdir()
    for name in BUILT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, copy)
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, copy], folder, environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_files(wheel: Path) -> None:
    """Every file of both packages is in the wheel, and nothing but them and the metadata."""
    sources = [file.relative_to(ROOT / "src") for file in (ROOT / "src").rglob("*") if file.is_file()]
    expected = {str(file) for file in sources if not any(map(_is_left_out, file.parts))}
    assert {"forager/py.typed", "forager_lab/py.typed"} <= expected
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(archive.read(about).decode())
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert (metadata["Name"], metadata["Version"]) == ("forager", PROJECT["project"]["version"])
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT"
    licences = metadata.get_all("License-File", [])
    assert licences == ["LICENSE", "src/forager/learn/vectors.LICENSE"]
    assert {f"{Path(about).parent}/licenses/{file}" for file in licences} <= names


def _is_left_out(part: str) -> bool:
    return part == "__pycache__" or part.endswith(".egg-info")


def run(command: list[object], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
