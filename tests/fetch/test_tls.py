"""TLS by policy: whom we believe, and what happens with all others."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import trustme

from forager.clock import WallClock
from forager.config import FetchConfig
from forager.fetch import make_http
from forager.fetch.connection import Limits, any_tls
from forager.types import Answer, Reason, Url
from forager.web.urls import RULES
from tests.fetch.wire import CONTACT, Wire, failed, fetched, fetcher, page

OURS, STRANGER = trustme.CA(), trustme.CA()
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
HOST = "secure.web.test"


def served(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def old_version(version: ssl.TLSVersion) -> ssl.SSLContext:
    context = served(OURS.issue_cert(HOST))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    return context


def verify() -> ssl.SSLContext:
    """What is believed by default, and our own authority."""
    context = ssl.create_default_context()
    OURS.configure_trust(context)
    return context


SERVERS: dict[str, tuple[Callable[[], ssl.SSLContext], str]] = {
    "self-signed": (lambda: served(STRANGER.issue_cert(HOST)), "certificate verify failed"),
    "expired": (lambda: served(OURS.issue_cert(HOST, not_after=LONG_AGO)), "certificate has expired"),
    "of another host": (lambda: served(OURS.issue_cert("other.web.test")), f"not valid for '{HOST}'"),
}


def visit(server: ssl.SSLContext, tls: ssl.SSLContext | bool) -> Answer:
    async def run() -> Answer:
        async with Wire({"*": page(b"<p>hello")}, tls=server) as wire:
            mapped = {HOST: f"127.0.0.1:{wire.port}"}
            async with fetcher(tls=tls, resolve=mapped) as client:
                return await client.fetch(Url(f"https://{HOST}/"))

    return asyncio.run(run())


def test_whom_an_authority_vouches_for() -> None:
    assert fetched(visit(served(OURS.issue_cert(HOST)), verify())).body == b"<p>hello"
    failed(visit(served(OURS.issue_cert(HOST)), True), Reason.TLS)  # which the system does not know


@pytest.mark.parametrize("name", SERVERS)
def test_all_others_are_told_apart_and_may_be_taken_on_trust(name: str) -> None:
    make, detail = SERVERS[name]
    failure = failed(visit(make(), verify()), Reason.TLS)
    assert detail in failure.detail
    assert (failure.status, failure.retry_after) == (0, None)
    assert fetched(visit(make(), any_tls())).body == b"<p>hello"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@pytest.mark.skipif(not ssl.HAS_TLSv1_1, reason="this OpenSSL has no old versions")
def test_old_versions_are_taken_only_on_trust() -> None:
    """asyncio's server hangs up without a word, so the client cannot say why it failed."""
    refused = visit(old_version(ssl.TLSVersion.TLSv1_1), verify())
    assert getattr(refused, "reason", None) in (Reason.UNREACHABLE, Reason.TLS)
    assert fetched(visit(old_version(ssl.TLSVersion.TLSv1_1), any_tls())).body == b"<p>hello"


def test_a_handshake_that_never_ends() -> None:
    async def run(tls: ssl.SSLContext | bool) -> Answer:
        async with Wire({}) as wire, fetcher(tls=tls, limits=Limits(connect=0.2)) as client:
            return await client.fetch(wire.url(scheme="https"))

    for tls in (True, any_tls()):
        failure = failed(asyncio.run(run(tls)), Reason.TIMEOUT)
        assert failure.detail.startswith("connect:")
        assert failure.retry_after is not None


def test_a_server_that_hangs_up_in_the_handshake_may_be_asked_again() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.close()

    async def run() -> Answer:
        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        async with server, fetcher() as client:
            return await client.fetch(Url(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"))

    assert failed(asyncio.run(run()), Reason.UNREACHABLE).retry_after is not None


@pytest.mark.parametrize("policy", ["verify", "any"])
def test_the_policy_of_a_configuration(policy: str) -> None:
    async def run() -> Answer:
        async with Wire({"*": page()}, tls=served(STRANGER.issue_cert(HOST))) as wire:
            settings = FetchConfig(contact=CONTACT, tls=policy, resolve={HOST: f"127.0.0.1:{wire.port}"})  # type: ignore[arg-type]
            async with make_http(settings, RULES, WallClock()) as client:
                return await client.fetch(Url(f"https://{HOST}/"))

    answer = asyncio.run(run())
    if policy == "any":
        fetched(answer)
    else:
        failed(answer, Reason.TLS)
