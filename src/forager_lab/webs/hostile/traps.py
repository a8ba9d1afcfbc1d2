"""Parts of the web that never end and bring nothing new."""

from __future__ import annotations

from forager_lab.webs.hostile.kinds import (
    MOST_OF_TRAP,
    Call,
    Reply,
    Wanted,
    answer,
    hostile,
    html,
    made_up,
    page,
)
from forager_lab.webs.procedural.chance import Dice, digest

MIRRORS = 1_457
MOST_OF_HOSTS = 200  # pages that a trap of many hosts may cost


def trapped(most: int = MOST_OF_TRAP, *, requests: int = 0, at_once: int | None = None) -> Wanted:
    """The beginning is kept, and it ends soon."""
    return Wanted(outcome="page", pages=(1, most), requests=requests or 2 * most + 20, urls=100_000, at_once=at_once)


def _dice(call: Call) -> Dice:
    return Dice(digest(0, call.host, call.path))


@hostile("calendar", "a calendar: each month links to the next and to the one before", trapped())
def calendar(call: Call) -> Reply:
    year, month = map(int, call.path.split("/")[2:4]) if call.path.count("/") == 3 else (2024, 5)
    at = 12 * year + month - 1
    months = [f"/calendar/{(at + step) // 12}/{(at + step) % 12 + 1}" for step in (-1, 1)]
    days = "".join(f"<td>{day}</td>" for day in range(1, 29))
    links = "".join(f"<a href='{link}'>other month</a> " for link in months)
    return answer(f"<title>{month}/{year}</title><h1>{month}/{year}</h1><table>{days}</table>{links}".encode())


@hostile("calendar-days", "a calendar that links to the days of each month, too", trapped())
def calendar_days(call: Call) -> Reply:
    at = int(call.path.rpartition("=")[2] or 0) if call.path != "/" else 20_000
    links = [f"/events?day={at + step}" for step in (-30, -7, -1, 1, 7, 30, 365)]
    return answer(html(f"{call.host} no events", *links))


@hostile("sessions", "five pages whose links carry a new session each time", trapped())
def sessions(call: Call) -> Reply:
    number = call.path.partition("?")[0].rpartition("/")[2] or "0"
    dice = _dice(call)
    links = [f"/item/{n}?s={dice.below(1 << 60):015x}" for n in range(5)]
    return answer(html(f"{call.host} item {number}", *links))


@hostile("sessions-path", "the same with the session in the path", trapped())
def sessions_path(call: Call) -> Reply:
    number = call.path.rpartition("/")[2] or "0"
    session = f"{_dice(call).below(1 << 60):015x}"
    return answer(html(f"{call.host} item {number}", *(f"/s/{session}/{n}" for n in range(5))))


@hostile("facets", "a list of goods with six filters of five values each", trapped(2 * MOST_OF_TRAP))
def facets(call: Call) -> Reply:
    chosen = dict(pair.split("=") for pair in call.path.partition("?")[2].split("&") if "=" in pair)
    names = ("color", "size", "brand", "price", "sort", "view")
    links = []
    for name in names:
        for value in range(5):
            query = {**chosen, name: str(value)}
            links.append("/goods?" + "&".join(f"{key}={query[key]}" for key in names if key in query))
    goods = _dice(call)
    listed = " ".join(made_up(f"good {goods.below(40)}", 8) for _ in range(4))
    return answer(html(f"{call.host} goods", *links).replace(b"<ul>", f"<p>{listed}</p><ul>".encode()))


@hostile("path-loop", "links a/ and b/ that make each path longer: a/b/a/b", trapped())
def path_loop(call: Call) -> Reply:
    return answer(html(f"{call.host} {call.path.count('/') % 2}", "a/", "b/"))


@hostile("path-grows", "a link that appends a new word to each path", trapped(70))
def path_grows(call: Call) -> Reply:
    return page(call, f"{made_up(call.path, 1)}/", f"{made_up(call.path + 'x', 1)}/")


@hostile("soft-404", "every URL is a page that says: not found, and names other pages", trapped(320))
def soft_404(call: Call) -> Reply:
    if call.path == "/":
        return page(call, *(f"/{made_up(f'lost {n}', 1)}" for n in range(200)))
    words = [f"/{made_up(f'{call.path} {n}', 1)}" for n in range(10)]
    return answer(html(f"{call.host} we are sorry, there is no such page", *words))


@hostile("counter", "each page links to the next number, and has a text of its own", trapped(2 * MOST_OF_TRAP))
def counter(call: Call) -> Reply:
    number = int(call.path.rpartition("=")[2] or 0) if "=" in call.path else 0
    return page(call, f"/page?n={number + 1}")


@hostile(
    "mirrors",
    f"{MIRRORS:,} hosts with the same pages",
    trapped(MOST_OF_HOSTS, requests=2_000),
    seeds=["http://h0.mirrors.test/"],
)
def mirrors(call: Call) -> Reply:
    first = int(call.host.partition(".")[0][1:]) + 1
    last = MIRRORS if first == 1 else min(first + 10, MIRRORS)  # the first host knows all, the others their neighbours
    others = [f"http://h{n}.mirrors.test/" for n in range(first, last)] if call.path == "/" else []
    return answer(html(f"mirrors {call.path}", *(f"/{n}" for n in range(5)), *others))


@hostile(
    "wildcard",
    "any name leads to the same machine, and each page links to ten new names",
    trapped(MOST_OF_HOSTS, requests=800, at_once=4),
    seeds=["http://h0.wildcard.example:{port}/"],
)
def wildcard(call: Call) -> Reply:
    dice = _dice(call)
    names = [f"{made_up(f'{call.host} {dice.below(1 << 60)}', 1)}{n}" for n in range(10)]
    return answer(html("wildcard", *(f"http://{name}.wildcard.example:{call.port}/" for name in names)))
