"""Pages made by hand."""

from __future__ import annotations

from forager.types import Fetch, Page
from forager.web.page import parse
from forager.web.urls import RULES

HOME = "http://www.u.test/cs302/index.html"


def page(html: str, url: str = HOME) -> Page:
    canonical = RULES.canonical(url)
    assert canonical is not None
    parsed = parse(Fetch(canonical, html.encode()))
    assert isinstance(parsed, Page)
    return parsed


# Everything on one page, in the manner of 1996: real headings, bold ones, terms of a list, a line with a colon.
ONE_PAGE = """
<html><head><title>CS 302 Home Page</title></head><body>
<h1>CS 302: Operating Systems</h1> Fall 1996 <hr>
<b>Instructor:</b> <a href="/~ada/">Ada Byron</a><br>
<b>Office:</b> Main 7<br>
<p>
<h2>Syllabus</h2>
<p>Processes, <b>virtual memory</b> and file systems.
<h3>Prerequisites</h3> CS 201.
<h3>Attendance</h3> Be there.
<h3>In depth</h3> Scheduling.
<h2>Homework</h2>
<ul><li><a href="hw1.html">#1</a> due in May <li><a href="hw2.html">#2</a></ul>
<b>Grading:</b> exams 40%.
<dl><dt>Textbook<dd>Tanenbaum, <i>Modern Operating Systems</i></dl>
<hr>
<center>Old exams:</center> <a href="old/95.ps">1995</a>
</body></html>
"""

MANY_PAGES = """
<title>CS 302 - Operating Systems</title>
<ul><li><a href="syllabus.html">Syllabus</a>
<li><a href="assignments.html">Homework assignments</a>
<li><a href="staff.html">TAs and office hours</a>
<li><a href="news.html">Announcements</a>
<li><a href="http://www.elsewhere.test/unix.html">Unix tutorial</a>
<li><a href="lectures/1.ps">Lecture 1</a> <a href="lectures/1.ps">Lecture 1</a></ul>
"""
