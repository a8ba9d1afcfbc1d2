"""Makes the pictures of a terminal, crawling.svg and demo.svg, from a real run of `forager demo`.

python docs/pictures/terminal.py
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS = 118
JUMP = re.compile(r"\r(?:\x1b\[\d*[AK])+")  # the cursor goes back to the top of the table that is shown live
CURSOR = re.compile(r"\x1b\[\?25[lh]")
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""  # as Rich has it, without the fonts that it would load from another host


def in_terminal(*command: str) -> str:
    """What a command prints in a terminal."""
    process, end = pty.fork()
    if process == 0:
        os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)})
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    printed = b""
    while True:
        try:
            printed += os.read(end, 65_536)
        except OSError:  # the other end is closed
            break
    os.waitpid(process, 0)
    return printed.decode().replace("\r\n", "\n")


def draw(text: str, file: Path, title: str) -> None:
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(text.rstrip()))
        file.write_text(console.export_svg(title=title, code_format=FORMAT, unique_id=file.stem), encoding="utf-8")


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    parts = [CURSOR.sub("", part) for part in JUMP.split(in_terminal("forager", "demo", "--folder", "demo"))]
    frames = [part for part in parts if re.match(r"\d+% ", part)]
    before = next(at for at, part in enumerate(parts) if part.startswith("best-first: "))  # its last line
    ours = [part for part in parts[before:] if part in frames]
    draw(ours[len(ours) // 4], HERE / "crawling.svg", "while it crawls")
    end = "".join(part for part in parts if part not in frames).partition("\nprojects")[0]
    draw(f"$ forager demo\n{end}", HERE / "demo.svg", "forager demo")
