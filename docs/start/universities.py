"""Six small universities that do not exist, on this machine: a web for the tutorial about course pages.

    python universities.py 8124

They answer to the names www.cs.NAME.test, NAME being ash, birch, cedar, elm, hazel or oak, on the port that is given.
Each has about 60 pages. They are built alike but not the same: menus, addresses and words differ.
"""

from __future__ import annotations

import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAMES = ("ash", "birch", "cedar", "elm", "hazel", "oak")
SUBJECTS = [
    *("Operating Systems", "Compilers", "Databases", "Computer Networks", "Machine Learning", "Algorithms"),
    *("Computer Graphics", "Programming Languages", "Software Engineering", "Cryptography", "Numerical Methods"),
]
PEOPLE = [
    *("Adams", "Baker", "Cole", "Dunn", "Evans", "Fisher", "Grant", "Hughes"),
    *("Irwin", "Jones", "King", "Lewis", "Moore", "Nash", "Owen", "Price"),
]
PLAIN = [
    *("the", "group", "new", "visitors", "meeting", "building", "year", "report"),
    *("students", "award", "open", "day", "library", "plan", "hall", "guests"),
]
TERMS = {
    "Operating Systems": "processes scheduling virtual memory file systems deadlock",
    "Compilers": "parsing code generation register allocation grammars",
    "Databases": "relational algebra transactions query plans indexes",
    "Computer Networks": "routing congestion packets protocols",
    "Machine Learning": "regression neural networks training data kernels",
    "Algorithms": "sorting graphs dynamic programming hashing",
}


class University:
    """One of them: its pages by path."""

    def __init__(self, name: str) -> None:
        self._draw = random.Random(name)
        self.name, self.title = name, f"{name.title()} University"
        teaching = self._draw.choice(["Teaching", "Academics", "Education"])
        courses = self._draw.choice(["Course pages", "Courses", "Class home pages"])
        self._menu = [("Home", "/"), ("News", "/news"), ("People", "/people"), ("Research", "/research")]
        self._menu.insert(self._draw.randrange(1, 5), (teaching, f"/{teaching.lower()}"))
        self.pages: dict[str, str] = {}
        taught = self._courses()
        self._put("/", f"Computer Science at {self.title}", self._prose(60))
        self._put(f"/{teaching.lower()}", teaching, self._prose(30) + _links([(courses, "/list"), *self._offices()]))
        self._put("/list", courses, _links([(f"{number} {subject}", path) for path, number, subject in taught]))
        self._people(taught)
        self._list("/news", "News", 20)
        self._list("/research", "Research projects", 12)

    def _courses(self) -> list[tuple[str, str, str]]:
        folder = self._draw.choice(["/courses", "/classes", "/~teach"])
        subjects = self._draw.sample(SUBJECTS, 8)
        found = []
        for subject, number in zip(subjects, self._draw.sample(range(101, 499), 8), strict=True):
            path = f"{folder}/cs{number}/"
            found.append((path, f"CS {number}", subject))
            self._put(path, f"CS {number} {subject}", self._course(subject))
        return found

    def _course(self, subject: str) -> str:
        about = TERMS.get(subject, subject.lower() + " methods and problems")
        person = self._draw.choice(PEOPLE)
        return (
            f"<h2>Instructor</h2><p>Professor {person}, office hours on Monday</p>"
            f"<h2>Syllabus</h2><p>An introduction to {about}. Prerequisites: two courses of mathematics.</p>"
            f"<h2>Lectures</h2><p>Lecture 1: overview. Lecture 2: {about}. Lecture notes are handed out.</p>"
            f"<h2>Assignments</h2><p>Homework 1 on {about}, homework 2, a project; due on Fridays.</p>"
            f"<h2>Exams</h2><p>A midterm exam and a final exam. Grading: half homework, half exams.</p>"
        )

    def _people(self, taught: list[tuple[str, str, str]]) -> None:
        names = self._draw.sample(PEOPLE, 10)
        self._put("/people", "People", _links([(f"Professor {name}", f"/people/{name.lower()}") for name in names]))
        for at, name in enumerate(names):
            own = [(f"CS {taught[at][1][3:]}", taught[at][0])] if at < 3 else []
            self._put(f"/people/{name.lower()}", f"Professor {name}", self._prose(50) + _links(own))

    def _list(self, path: str, title: str, count: int) -> None:
        items = [(" ".join(self._draw.sample(PLAIN, 3)).capitalize(), f"{path}/{at}") for at in range(count)]
        self._put(path, title, _links(items))
        for name, target in items:
            self._put(target, name, self._prose(70))

    def _offices(self) -> list[tuple[str, str]]:
        for title in ("Degrees", "Timetable", "Admission"):
            self._put(f"/{title.lower()}", title, self._prose(40))
        return [(title, f"/{title.lower()}") for title in ("Degrees", "Timetable", "Admission")]

    def _prose(self, words: int) -> str:
        return f"<p>{' '.join(self._draw.choices(PLAIN, k=words)).capitalize()}.</p>"

    def _put(self, path: str, title: str, body: str) -> None:
        menu = " ".join(f'<a href="{target}">{name}</a>' for name, target in self._menu)
        self.pages[path] = (
            f"<!doctype html><html lang=en><title>{title}</title><body><nav>{menu}</nav><h1>{title}</h1>{body}</body>"
        )


def _links(links: list[tuple[str, str]]) -> str:
    return "<ul>" + "".join(f'<li><a href="{target}">{name}</a></li>' for name, target in links) + "</ul>"


class Answer(BaseHTTPRequestHandler):
    sites = {f"www.cs.{name}.test": University(name).pages for name in NAMES}  # noqa: RUF012
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        page = self.sites.get(self.headers.get("Host", "").partition(":")[0], {}).get(self.path)
        body = (page or "not here").encode()
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer)
    print(f"listening on 127.0.0.1:{server.server_port}; Ctrl-C ends it", flush=True)
    server.serve_forever()
