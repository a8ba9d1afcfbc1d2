"""How large a plain install is: `python -m bench.install_size [--extras lexical,parquet]`.

Forager and all that it needs go into an empty environment, without pip and bytecode, with the versions of
constraints.txt. Printed are the largest packages and the sum, in MB. It fails if a plain install is larger than `MOST`.
pip needs a registry. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILT = ("src", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "constraints.txt")
MOST = 250.0
LARGEST = 12  # packages that are printed
MB = 1 << 20


def installed(folder: Path, extras: str) -> Path:
    """The folder of the packages."""
    sources = folder / "sources"  # a copy, because a build leaves files behind
    sources.mkdir()
    for name in BUILT:
        one = ROOT / name
        if one.is_dir():
            shutil.copytree(one, sources / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(one, sources)
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install", "--quiet", "--no-compile"]
    wanted = f"{sources}[{extras}]" if extras else str(sources)
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), wanted], check=True)
    (packages,) = venv.glob("lib/python3*/site-packages")
    return packages


def sizes(packages: Path) -> dict[str, float]:
    """MB of each folder and file, the largest first."""
    found = {}
    for one in packages.iterdir():
        inner = one.rglob("*") if one.is_dir() else [one]
        found[one.name] = sum(file.stat().st_size for file in inner if file.is_file()) / MB
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="", help="extras to install too, with commas between them")
    extras = parser.parse_args().extras
    with tempfile.TemporaryDirectory() as folder:
        found = sizes(installed(Path(folder), extras))
    total = sum(found.values())
    for name, size in list(found.items())[:LARGEST]:
        print(f"{size:8.1f}  {name}")
    print(f"{total:8.1f}  all")
    print(json.dumps({"bench": "install_size", "extras": extras, "mb": round(total, 1)}))
    if not extras and total > MOST:
        sys.exit(f"a plain install takes {total:.0f} MB, more than {MOST:.0f}")


if __name__ == "__main__":
    main()
