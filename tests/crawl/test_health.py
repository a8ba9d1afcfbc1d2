"""Hosts that fail, and a network that is down, on a clock that is moved by hand."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest

from forager.crawl.health import FIRST_PROBE, LONGEST_PROBE, LONGEST_REST, STRANGER, Health
from forager.types import Failure, Reason, Url

AWAY = Failure(Url("http://a.test/"), Reason.UNREACHABLE, "connection refused", 10.0)
BUSY = Failure(Url("http://a.test/"), Reason.BUSY, "status 429", 3600.0, status=429)
BROKEN = Failure(Url("http://a.test/"), Reason.SERVER_ERROR, "status 500", 10.0, status=500)
GATEWAY = Failure(Url("http://a.test/"), Reason.SERVER_ERROR, "status 502", 10.0, status=502)
LOCAL = Failure(Url("http://a.test/"), Reason.LOCAL, "too many open files", 10.0)


def healthy(hosts: int = 5, retries: int = 2, patience: float = 20_000.0) -> Health:
    """All hosts have answered."""
    health = Health(retries, patience)
    for host in range(hosts):
        health.answered(host)
    return health


def test_a_host_that_is_away_rests_longer_each_time_and_costs_its_links_nothing() -> None:
    health, now, rests = healthy(), 0.0, []
    for turn in range(14):
        setback = health.setback(AWAY, 0, turn, now)  # another link each time
        assert not setback.final
        health.answered(1)  # the others are well
        rests.append(setback.rest)
        now += setback.rest
    assert all(1.2 * before < after for before, after in pairwise(rests) if before < LONGEST_REST / 2)
    assert rests[-1] >= 0.75 * LONGEST_REST
    assert dict(health.attempts) == {0: 1}  # only the first came from a host that was well


def test_a_link_that_always_fails_on_a_host_that_is_well_is_given_up() -> None:
    for failure in (AWAY, BUSY, GATEWAY, BROKEN):
        health = healthy(retries=2)
        told = []
        for _ in range(3):
            told.append(health.setback(failure, 0, 7, 0.0).final)
            health.answered(0)  # another link of the host works
        assert told == [False, False, True]


def test_an_error_of_one_page_counts_against_the_link_alone() -> None:
    health = healthy(retries=2)
    setbacks = [health.setback(BROKEN, 0, 7, 0.0) for _ in range(3)]
    assert [setback.rest for setback in setbacks] == [0.0, 0.0, 0.0]
    assert [setback.final for setback in setbacks] == [False, False, True]
    assert setbacks[1].wait > setbacks[0].wait > 0


def test_a_host_rests_as_long_as_it_asks() -> None:
    assert healthy().setback(BUSY, 0, 7, 0.0).rest == 3600.0


@pytest.mark.parametrize(("answered", "patience"), [(True, 20_000.0), (False, STRANGER)])
def test_a_silent_host_is_given_up_in_the_end(answered: bool, patience: float) -> None:
    """Sooner if it has never answered."""
    health, now, last = healthy(), 0.0, 0.0
    while (setback := health.setback(AWAY, 0 if answered else 9, 7, now)).rest < inf:
        health.answered(1)
        last, now = now, now + setback.rest
    assert last <= patience < now
    assert health.given_up == [0 if answered else 9]


def test_all_that_was_in_flight_when_the_network_went_down_does_not_put_off_the_first_try() -> None:
    health = healthy(64)
    setbacks = [health.setback(AWAY, host, host, 1.0 + host / 1000) for host in range(64)]
    assert health.network.probe_at == pytest.approx(1.0 + FIRST_PROBE, abs=0.1)
    assert max(setback.rest for setback in setbacks[3:]) <= FIRST_PROBE
    health.setback(AWAY, 0, 0, health.network.probe_at)
    assert health.network.probe_at > 1.0 + 2.4 * FIRST_PROBE


def test_hosts_that_fall_silent_together_mean_that_our_network_is_down() -> None:
    health = healthy()
    for host in range(3):
        assert health.network.down_since is None
        health.setback(AWAY, host, host, 10.0 + host)
    assert health.network.down_since == 12.0
    before, now = dict(health.attempts), 12.0
    for _ in range(30):  # probes
        now = health.network.probe_at
        setback = health.setback(AWAY, 3, 3, now)
        assert not setback.final
        assert FIRST_PROBE <= setback.rest <= LONGEST_PROBE
    assert dict(health.attempts) == before
    assert not health.spent(now)
    health.answered(4)
    assert health.network.down_since is None


def test_dead_hosts_among_many_others_do_not_mean_that() -> None:
    health = healthy(hosts=2)
    for host in range(100, 200):  # never heard of
        health.setback(AWAY, host, host, 0.0)
    assert health.network.down_since is None
    health.setback(AWAY, 0, 0, 0.0)
    assert health.network.down_since is None  # the other one may be well
    health.setback(AWAY, 1, 1, 0.0)
    assert health.network.down_since == 0.0


def test_if_nobody_has_answered_yet_three_failures_are_enough_and_patience_is_short() -> None:
    health = Health(2, 20_000.0)
    for turn in range(3):
        health.setback(AWAY, 0, 0, float(turn))
    assert health.network.down_since == 2.0
    assert not health.spent(2.0 + STRANGER)
    assert health.spent(3.0 + STRANGER)


def test_a_fault_of_this_machine_counts_against_nobody() -> None:
    health = healthy()
    setback = health.setback(LOCAL, 0, 7, 5.0)
    assert (setback.attempt, setback.final, health.network.down_since) == (0, False, 5.0)
    assert setback.rest == FIRST_PROBE


def test_a_busy_host_shows_that_the_network_is_up() -> None:
    health = healthy()
    for host in range(3):
        health.setback(AWAY, host, host, 0.0)
    health.setback(BUSY, 4, 4, 1.0)
    assert health.network.down_since is None


def test_robots_txt_that_cannot_be_had_rests_the_host_and_counts_against_no_link() -> None:
    health = healthy(retries=0)
    setback = health.setback(GATEWAY, 0, None, 0.0)
    assert setback.rest > 0
    assert not setback.final
    assert not health.attempts


def test_requests_that_were_under_way_when_the_network_went_down_do_not_put_off_the_next_try() -> None:
    health = healthy(hosts=40)
    for host in range(40):  # all of them fail at the same moment
        health.setback(AWAY, host, host, 100.0)
    assert health.network.down_since == 100.0
    assert health.network.probe_at == 100.0 + FIRST_PROBE


def test_a_host_whose_robots_txt_never_comes_whole_rests_longer_each_time_and_is_given_up() -> None:
    health, now, rests = healthy(patience=100.0), 0.0, []
    while not health.given_up:
        rests.append(health.setback(BROKEN, 0, None, now).rest)  # no link was asked for
        now += 1.0 + rests[-1]
        assert len(rests) < 20
    assert rests[0] > 0.0
    assert all(before < after for before, after in pairwise(rests))
