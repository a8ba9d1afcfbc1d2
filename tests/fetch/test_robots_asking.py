"""robots.txt: when it is asked for, where its redirects lead, and what holds while it cannot be read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import TypeVar

import pytest

from forager.clock import VirtualClock
from forager.fetch.robots import EVERYTHING, LARGEST, Robots, RobotsRules
from forager.types import Answer, Exchange, Failure, Fetch, Reason, Redirect, Url
from forager.web.urls import host
from tests.fetch.wire import Wire, fetcher, page

HOST = Url("http://h.test/robots.txt")
AGENT = "Forager/1.0 (+me@example.org)"
CLOSED = b"user-agent: *\ndisallow: /\ncrawl-delay: 999"
X = Url("http://h.test/x")
DAY = 86_400.0

T = TypeVar("T")
R = TypeVar("R")


class Web:
    """Answers by URL, and counts the requests. A URL without an answer is not found."""

    def __init__(self, answers: Mapping[str, Answer | bytes]) -> None:
        self.answers, self.asked = dict(answers), list[str]()

    async def fetch(self, url: Url) -> Answer:
        self.asked.append(url)
        await asyncio.sleep(0)
        answer = self.answers.get(url, Failure(url, Reason.NOT_FOUND))
        return Fetch(url, answer, "text/plain") if isinstance(answer, bytes) else answer


def rules_at_last(robots: Robots, url: Url = X) -> RobotsRules:
    """The rules, after as many requests as it takes."""
    for _ in range(10):
        rules = asyncio.run(robots.rules(url))
        assert robots.known(url) is rules
        if rules is not None:
            return rules
    raise AssertionError("they are never known")


def test_asked_once_a_day_for_each_origin() -> None:
    web, clock = Web({HOST: CLOSED}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock, longest_delay=30)

    async def run() -> None:
        assert robots.known(X) is None
        several = await asyncio.gather(*(robots.rules(X) for _ in range(5)))
        first = several[0]
        assert first is not None
        assert all(rules is robots.known(X) for rules in several)
        assert not first.allows(X)
        assert first.delay == 30
        assert web.asked == [HOST]
        await robots.rules(Url("https://h.test/x"))
        await robots.rules(Url("http://h.test:81/x"))
        assert web.asked[1:] == ["https://h.test/robots.txt", "http://h.test:81/robots.txt"]
        clock.spend(DAY - 1)
        assert robots.known(X)
        clock.spend(2)
        assert robots.known(X) is None
        web.answers[HOST] = b""
        assert await robots.rules(X) == EVERYTHING

    asyncio.run(run())


@pytest.mark.parametrize("reason", [Reason.NOT_FOUND, Reason.CLIENT_ERROR, Reason.BAD_REDIRECT])
def test_without_a_file_everything_is_allowed(reason: Reason) -> None:
    robots = Robots(Web({HOST: Failure(HOST, reason)}).fetch, AGENT, clock=VirtualClock())
    assert asyncio.run(robots.rules(X)) == EVERYTHING


# ---- a file that cannot be read -------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [Reason.SERVER_ERROR, Reason.BUSY, Reason.TIMEOUT, Reason.UNREACHABLE, Reason.DNS])
@pytest.mark.parametrize(("retry_after", "wait"), [(None, 30), (5.0, 30), (2000.0, 2000)])
def test_a_file_that_cannot_be_had_forbids_all_for_a_while(
    reason: Reason, retry_after: float | None, wait: float
) -> None:
    """As long as a busy host asks for; of other failures the time is our own guess, which does not count."""
    wait = wait if reason is Reason.BUSY else 30
    failure = Failure(HOST, reason, "so", retry_after=retry_after, exchange=Exchange(b"", b"long" * 9999))
    web, clock = Web({HOST: failure}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock)
    rules = rules_at_last(robots)
    assert not rules.allows(X)
    assert rules.problem == Failure(HOST, reason, "so", retry_after=retry_after)  # the heads are not kept
    clock.spend(wait - 1)
    assert robots.known(X) is rules
    clock.spend(2)
    web.answers[HOST] = b"user-agent: *\nallow: /"
    assert rules_at_last(robots).allows(X)
    assert len(web.asked) == 2


def test_a_failure_that_is_not_kept_is_told_all_the_same() -> None:
    web, clock = Web({HOST: Failure(HOST, Reason.TIMEOUT, "silence")}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock, retry=0.0)
    for asked in (1, 2):
        rules = asyncio.run(robots.rules(X))
        assert rules is not None
        assert rules.problem == Failure(HOST, Reason.TIMEOUT, "silence")
        assert len(web.asked) == asked


def test_it_is_asked_for_again_later_each_time() -> None:
    web, clock = Web({HOST: Failure(HOST, Reason.TIMEOUT)}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock)

    def seconds_kept() -> float:
        rules_at_last(robots)
        began = clock.now()
        while robots.known(X):
            clock.spend(10)
        return clock.now() - began

    assert [seconds_kept() for _ in range(7)] == [30, 60, 120, 240, 480, 600, 600]
    web.answers[HOST] = CLOSED
    assert seconds_kept() == DAY
    web.answers[HOST] = Failure(HOST, Reason.TIMEOUT)
    assert seconds_kept() == 30  # the failures before have been forgotten


def test_what_was_known_holds_while_the_file_cannot_be_had() -> None:
    web, clock = Web({HOST: b"user-agent: *\ndisallow: /y"}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock)
    first = rules_at_last(robots)
    web.answers[HOST] = Failure(HOST, Reason.SERVER_ERROR)
    while clock.now() < 30 * DAY:
        assert rules_at_last(robots) is first
        clock.spend(DAY)
        assert robots.known(X) is None
    assert rules_at_last(robots).problem is not None  # for a month, not for ever
    assert not rules_at_last(robots).allows(X)


# ---- redirects ------------------------------------------------------------------------------------------------------


def redirects(*urls: str) -> dict[str, Answer | bytes]:
    return {here: Redirect(Url(here), Url(there)) for here, there in pairwise(urls)}


def test_each_redirect_is_a_request_of_its_own() -> None:
    """So that a host can rest between them."""
    hops = [HOST, "https://h.test/robots.txt", "http://other.test/a", "http://other.test/b"]
    web = Web({**redirects(*hops), hops[-1]: CLOSED})
    robots = Robots(web.fetch, AGENT, clock=VirtualClock())
    for count in range(1, len(hops)):
        assert asyncio.run(robots.rules(X)) is None
        assert robots.known(X) is None
        assert web.asked == hops[:count]
    assert not rules_at_last(robots).allows(X)
    assert web.asked == hops


def test_after_five_hops_there_is_no_file() -> None:
    for length, allowed, asked in ((5, False, 6), (6, True, 6), (50, True, 6)):
        urls = [HOST, *(f"http://h.test/{n}" for n in range(length))]
        web = Web({**redirects(*urls), urls[-1]: CLOSED})
        robots = Robots(web.fetch, AGENT, clock=VirtualClock())
        assert rules_at_last(robots).allows(X) == allowed
        assert len(web.asked) == asked


def test_redirects_in_a_circle_are_no_file() -> None:
    web = Web(redirects(HOST, "http://other.test/a", HOST))
    assert rules_at_last(Robots(web.fetch, AGENT, clock=VirtualClock())) is EVERYTHING
    assert len(web.asked) == 2


def test_many_hosts_that_redirect_to_one_file_cause_one_request_there() -> None:
    """A hundred of them made us ask a victim a hundred times in half a second."""
    victim = "http://victim.test/robots.txt"
    hosts = [f"http://h{n}.test/robots.txt" for n in range(100)]
    web, away = Web({here: Redirect(Url(here), Url(victim)) for here in hosts}), Web({victim: CLOSED})
    robots = Robots(web.fetch, AGENT, clock=VirtualClock(), elsewhere=away.fetch)

    async def run() -> None:
        for _ in range(2):
            await asyncio.gather(*(robots.rules(Url(here)) for here in hosts))

    asyncio.run(run())
    assert all(host(Url(url)) != "victim.test" for url in web.asked)
    assert away.asked == [victim]
    assert not any(rules_at_last(robots, Url(f"http://h{n}.test/x")).allows(X) for n in range(100))
    assert (len(web.asked), len(away.asked)) == (100, 1)


def test_another_host_that_must_not_be_asked_now_is_asked_later() -> None:
    web, there = Web(redirects(HOST, "http://other.test/robots.txt")), Web({"http://other.test/robots.txt": CLOSED})
    may, refused = False, list[Url]()

    async def elsewhere(url: Url) -> Answer | None:
        if may:
            return await there.fetch(url)
        refused.append(url)
        return None

    robots = Robots(web.fetch, AGENT, clock=VirtualClock(), elsewhere=elsewhere)
    for _ in range(3):
        assert asyncio.run(robots.rules(X)) is None
    assert refused == ["http://other.test/robots.txt"] * 2
    may = True
    assert not rules_at_last(robots).allows(X)
    assert web.asked == [HOST]  # the redirect was remembered


def test_nobody_waits_for_what_another_host_is_asked_for_already() -> None:
    hosts = [f"http://h{n}.test/robots.txt" for n in range(3)]
    web = Web({here: Redirect(Url(here), Url("http://slow.test/")) for here in hosts})

    async def run() -> list[RobotsRules | None]:
        answered = asyncio.Event()

        async def elsewhere(url: Url) -> Answer:
            await answered.wait()
            return Fetch(url, CLOSED)

        robots = Robots(web.fetch, AGENT, clock=VirtualClock(), elsewhere=elsewhere)
        for here in hosts:
            await robots.rules(Url(here))
        first = asyncio.create_task(robots.rules(Url(hosts[0])))
        await asyncio.sleep(0)
        others = [await asyncio.wait_for(robots.rules(Url(here)), 5) for here in hosts[1:]]
        answered.set()
        assert await first
        return others

    assert asyncio.run(run()) == [None, None]


def test_a_redirect_holds_while_its_host_cannot_be_reached() -> None:
    web, clock = Web({**redirects(HOST, "http://other.test/"), "http://other.test/": CLOSED}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock)
    rules_at_last(robots)
    clock.spend(DAY + 1)
    web.answers[HOST] = Failure(HOST, Reason.SERVER_ERROR)
    rules = rules_at_last(robots)
    assert rules.problem is None
    assert not rules.allows(X)
    assert web.asked.count("http://other.test/") == 2


def test_a_cancelled_reader_leaves_the_next_one_to_read() -> None:
    web = Web({HOST: CLOSED})

    async def run() -> None:
        robots = Robots(web.fetch, AGENT, clock=VirtualClock())
        first, second = (asyncio.create_task(robots.rules(X)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        rules = await second
        assert rules is not None
        assert not rules.allows(X)

    asyncio.run(run())
    assert len(web.asked) == 2


# ---- memory and time ------------------------------------------------------------------------------------------------


def test_so_many_bytes_are_kept_the_newest_ones() -> None:
    urls = [Url(f"http://h{n}.test/robots.txt") for n in range(40)]
    large = b"user-agent: *\n" + b"".join(b"disallow: /%d\n" % n for n in range(1_000))
    web = Web(dict.fromkeys(urls, large))
    robots = Robots(web.fetch, AGENT, clock=VirtualClock(), memory=50_000)
    for url in urls:
        rules_at_last(robots, url)
    known = [rules for url in urls if (rules := robots.known(url))]
    assert 5 < len(known) < 12
    assert sum(rules.size for rules in known) <= 50_000
    assert all(robots.known(url) for url in urls[-len(known) :])


def test_small_files_count_too() -> None:
    urls = [Url(f"http://h{n}.test/") for n in range(50)]
    robots = Robots(Web({}).fetch, AGENT, clock=VirtualClock(), memory=10_000)
    for _ in range(2):
        for url in urls:
            rules_at_last(robots, url)
    assert 5 < sum(bool(robots.known(url)) for url in urls) < 25


def test_rules_that_alone_are_too_large_are_kept_until_others_come() -> None:
    large = b"user-agent: *\n" + b"".join(b"disallow: /%d\n" % n for n in range(1_000))
    robots = Robots(Web({HOST: large}).fetch, AGENT, clock=VirtualClock(), memory=100)
    assert not rules_at_last(robots).allows(Url("http://h.test/999"))
    rules_at_last(robots, Url("http://other.test/"))
    assert robots.known(X) is None


class NotingClock(VirtualClock):
    """Notes how many bytes are worked on beside the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.beside_bytes = list[int]()

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        assert isinstance(given, bytes)
        self.beside_bytes.append(len(given))
        return work(given)


def test_large_files_are_read_beside_the_loop() -> None:
    clock, small, large = NotingClock(), CLOSED, CLOSED + b"\n#" * 10_000
    for body in (small, large):
        assert not rules_at_last(Robots(Web({HOST: body}).fetch, AGENT, clock=clock)).allows(X)
    assert clock.beside_bytes == [len(large)]


def test_over_the_wire_of_any_type_and_only_the_start() -> None:
    async def run() -> tuple[RobotsRules | None, list[bytes]]:
        body = CLOSED + b"\n" + b"# much more\n" * 200_000
        async with Wire({"/robots.txt": page(body, kind="image/png")}) as wire, fetcher() as client:
            fetch = partial(client.fetch_start, largest=LARGEST)
            robots = Robots(fetch, client.agent, clock=VirtualClock())
            return await robots.rules(wire.url("/x")), wire.requests

    rules, requests = asyncio.run(run())
    assert rules is not None
    assert not rules.allows(X)
    assert len(requests) == 1


def test_rules_of_before_let_pages_be_asked_while_they_cannot_be_read_again() -> None:
    """Also for a crawl, which sees to the time between two tries itself."""
    web, clock = Web({HOST: b"user-agent: *\ndisallow: /y"}), VirtualClock()
    robots = Robots(web.fetch, AGENT, clock=clock, retry=0.0)
    rules_at_last(robots)
    web.answers[HOST] = Failure(HOST, Reason.SERVER_ERROR, "500", retry_after=10.0, status=500)
    clock.spend(DAY + 1)
    assert rules_at_last(robots).allows(X)
    assert robots.known(X) is not None
    assert len(web.asked) == 2
