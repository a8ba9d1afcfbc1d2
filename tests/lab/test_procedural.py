"""The procedural web keeps its promises: the same everywhere, true to its labels, and no free lunch on it."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from urllib.parse import urljoin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from selectolax.lexbor import LexborHTMLParser

from forager.types import Failure, Fetch, Fetcher, Reason, Redirect, Url
from forager.web.urls import RULES
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.procedural.hosts import Hosts
from forager_lab.webs.procedural.topics import topic_tree

WEB = ProceduralWeb()
TRUTH = dict(WEB.labels())
PAGES = list(TRUTH)
LINKS = {url: WEB.links(url) for url in PAGES}
NONE = "_none"
final_of = cache(WEB.final)


def spread(urls: list[Url], n: int) -> list[Url]:
    return urls[:: max(1, len(urls) // n)]


def middle(label: str) -> str:
    return ".".join(label.split(".")[:2])


def found_by_parser(web: ProceduralWeb, url: str) -> list[str]:
    tree = LexborHTMLParser(web.respond(url).body.decode())
    return [urljoin(url, node.attributes["href"] or "") for node in tree.css("a")]


def first_link(wanted: Callable[[str], bool]) -> Url:
    return next(link for links in LINKS.values() for link in links if wanted(link))


# ---- the same everywhere --------------------------------------------------------------------------------------------

FINGERPRINT = """
import hashlib
from forager_lab.webs.procedural import ProceduralWeb
web = ProceduralWeb()
urls = [url for url, _ in web.labels()][::40]
print(hashlib.sha256(b"".join(web.respond(url).body for url in urls)).hexdigest())
"""


def test_another_process_makes_the_same_bytes() -> None:
    here = hashlib.sha256(b"".join(WEB.respond(url).body for url in PAGES[::40])).hexdigest()
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    run = subprocess.run([sys.executable, "-c", FINGERPRINT], env=environment, capture_output=True, check=True)
    assert run.stdout.decode().strip() == here


def test_the_order_of_asking_does_not_matter() -> None:
    other = ProceduralWeb()
    for url in reversed(spread(PAGES, 40)):
        assert other.respond(url) == WEB.respond(url)


def test_another_seed_makes_another_web() -> None:
    other = ProceduralWeb(replace(WEB.plan, seed=2))
    assert len(set(other.homes()) & set(WEB.homes())) < 10
    assert len({url for url, _ in other.labels()} & set(PAGES)) < len(PAGES) / 4


def test_it_has_the_size_of_its_plan() -> None:
    assert len(TRUTH) == sum(1 for _ in WEB.labels())  # no URL twice
    assert 0.8 < len(PAGES) / (WEB.plan.hosts * WEB.plan.pages_per_host) < 1.3
    assert 6_000 < np.mean([len(WEB.respond(url).body) for url in spread(PAGES, 300)]) < 13_000


# ---- true to its labels ---------------------------------------------------------------------------------------------


def test_every_labelled_page_is_answered_with_html() -> None:
    for url in PAGES:
        response = WEB.respond(url)
        assert response.status == 200, url
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert WEB.label(url) == TRUTH[url]
        assert WEB.final(url) == url


def test_labels_are_paths_of_the_topic_tree() -> None:
    prefixes = {topic.rsplit(".", cut)[0] for topic in WEB.topics() for cut in (0, 1)}
    assert set(TRUTH.values()) <= prefixes | {NONE}
    assert 90 <= len(WEB.topics()) <= 100
    assert len({topic.rpartition(".")[2] for topic in WEB.topics()}) == len(WEB.topics())


@pytest.mark.parametrize("topic", ["Science", "Arts.Music", "Home.Cooking.Bread", "Health.Mind", "Scien", NONE + "x"])
def test_relevant_counts_without_enumerating(topic: str) -> None:
    counted = sum(label == topic or label.startswith(topic + ".") for label in TRUTH.values())
    assert WEB.relevant(topic) == counted


def test_links_are_what_a_parser_finds() -> None:
    trapped = [link for url in spread(PAGES, 40) for link in LINKS[url] if WEB.endless(link)]
    for url in [*spread(PAGES, 400), *trapped[:20]]:
        assert found_by_parser(WEB, url) == WEB.links(url), url


def test_urls_are_in_canonical_form() -> None:
    for url in {*PAGES, *itertools.chain.from_iterable(LINKS.values())}:
        assert RULES.canonical(url) == url


def test_anchors_name_the_same_links() -> None:
    for url in spread(PAGES, 50):
        assert [target for target, _ in WEB.anchors(url)] == LINKS[url]


def test_seeds_are_pages_of_the_topic() -> None:
    seeds = WEB.seeds("Science.Biology", 5, rng_seed=3)
    assert len(set(seeds)) == 5
    assert all(TRUTH[url].startswith("Science.Biology.") for url in seeds)
    assert seeds == WEB.seeds("Science.Biology", 5, rng_seed=3)
    assert seeds != WEB.seeds("Science.Biology", 5, rng_seed=4)
    assert len(WEB.seeds("Science", 10_000)) < WEB.relevant("Science")  # all there are


# ---- structure ------------------------------------------------------------------------------------------------------


def test_nearly_everything_is_reachable_from_one_home_page() -> None:
    start = next(WEB.homes())
    seen, queue, reached = {start}, deque([start]), set()
    for _ in range(6 * len(PAGES)):  # a breadth-first crawl that knows of no trap
        if not queue:
            break
        final = final_of(queue.popleft())
        if final is None or final in reached:
            continue
        reached.add(final)
        for link in LINKS.get(final) or WEB.links(final):
            if link not in seen:
                seen.add(link)
                queue.append(link)
    assert len(reached & TRUTH.keys()) > 0.9 * len(PAGES)


def test_pages_link_to_their_own_kind_more_often_than_chance() -> None:
    same, kin, all_links = 0, 0, 0
    for url, links in LINKS.items():
        for target in links:
            here, there = TRUTH[url], TRUTH.get(target, NONE)
            if here.count(".") == there.count(".") == 2:
                all_links += 1
                same += here == there
                kin += middle(here) == middle(there)
    assert 0.33 < same / all_links < 0.5
    assert kin > 1.2 * same


def inlink_labels() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for url, links in LINKS.items():
        for link in links:
            final = final_of(link)
            if final is not None and final != url:
                found[final].add(TRUTH[url])
    return found


def test_some_pages_are_reached_only_through_pages_off_their_topic() -> None:
    labels = inlink_labels()
    lonely = [url for url in PAGES if TRUTH[url].count(".") == 2 and TRUTH[url] not in labels[url]]
    assert len(lonely) > 0.02 * len(PAGES)
    assert all(labels[url] for url in lonely)
    without = ProceduralWeb(replace(WEB.plan, tunnels=0.0))
    assert not [url for url, _ in without.labels() if "/reading/" in url]


@pytest.mark.parametrize("kind", ["calendar", "browse", "files", "catalogue"])
def test_traps_have_no_end_and_no_label(kind: str) -> None:
    plans = (replace(WEB.plan, seed=seed, traps=1.0) for seed in itertools.count())
    web, url = next(
        (web, link)
        for web in map(ProceduralWeb, plans)
        for home in web.homes()
        for link in web.links(home)
        if web.endless(link) and f"/{kind}" in link
    )
    seen = set()
    for _ in range(60):
        assert web.respond(url).status == 200
        assert web.label(url) == NONE
        seen.add(url)
        url = next(link for link in web.links(url) if web.endless(link) and link not in seen)
    assert not any(web.endless(page) for page, _ in web.labels())


def test_hubs_are_thin_and_mostly_of_one_topic() -> None:
    hubs = [url for url in PAGES if re.search(r"/links/\d+$", url)]
    assert len(hubs) > 20
    pure = [sum(TRUTH.get(link) == TRUTH[url] for link in LINKS[url]) / len(LINKS[url]) for url in hubs]
    assert 0.15 < np.mean(pure) < 0.8


def test_print_versions_repeat_their_article() -> None:
    prints = [url for url in PAGES if "/print/" in url]
    assert 0.01 * len(PAGES) < len(prints) < 0.1 * len(PAGES)
    for url in prints[:20]:
        original = WEB.original(url)
        assert TRUTH[original] == TRUTH[url]
        copy, page = (LexborHTMLParser(WEB.respond(u).body.decode()).css("p")[0].text() for u in (url, original))
        assert copy == page
    named = [b'rel="canonical"' in WEB.respond(url).body for url in prints]
    assert 0 < sum(named) < len(named)


# ---- answers --------------------------------------------------------------------------------------------------------


def ask(url: str) -> Fetch | Redirect | Failure:
    fetcher: Fetcher = WEB
    return asyncio.run(fetcher.fetch(Url(url)))


def test_fetch_answers_with_a_page() -> None:
    answer = ask(PAGES[0])
    assert isinstance(answer, Fetch)
    assert (answer.content_type, answer.charset, answer.status) == ("text/html", "utf-8", 200)
    assert answer.body == WEB.respond(PAGES[0]).body
    assert answer.seconds > 0


def test_redirects_lead_to_pages_by_one_hop_or_more() -> None:
    hops = Counter[int]()
    moved = {link for links in LINKS.values() for link in links if re.search(r"/(old|older|out)/", link)}
    for link in spread(sorted(moved), 200):
        answer, count = ask(link), 0
        while isinstance(answer, Redirect):
            answer, count = ask(answer.target), count + 1
        assert isinstance(answer, Fetch)
        assert answer.url == WEB.final(link)
        assert WEB.label(link) == TRUTH[answer.url]
        hops[count] += 1
    assert set(hops) == {1, 2}


def test_some_redirects_go_round_in_a_circle() -> None:
    url = first_link(lambda link: "/welcome/" in link)
    there = ask(url)
    assert isinstance(there, Redirect)
    back = ask(there.target)
    assert isinstance(back, Redirect)
    assert back.target == url
    assert WEB.final(url) is None
    assert WEB.label(url) == NONE


def test_what_fails_says_why() -> None:
    dead = first_link(lambda link: WEB.respond(link).status == 404)
    broken = first_link(lambda link: "/live/" in link)
    document = first_link(lambda link: "/docs/" in link)
    reasons: dict[str, Reason] = {dead: Reason.NOT_FOUND, broken: Reason.SERVER_ERROR, document: Reason.NOT_HTML}
    for url, reason in {**reasons, "http://nobody.web.test/": Reason.UNREACHABLE}.items():
        answer = ask(url)
        assert isinstance(answer, Failure)
        assert answer.reason is reason
        assert (answer.retry_after is not None) == (reason is Reason.SERVER_ERROR)
        assert WEB.label(url) == NONE
        assert WEB.links(url) == []


def test_some_hosts_are_slow() -> None:
    seconds = [WEB.respond(home).seconds for home in WEB.homes()]
    assert min(seconds) < 0.3
    assert max(seconds) > 1.0
    assert np.mean([s > 1.0 for s in seconds]) < 0.4


def test_robots_and_sitemaps() -> None:
    robots = {home: WEB.respond(home + "robots.txt").body.decode() for home in WEB.homes()}
    assert all("Disallow: /login" in text and f"Sitemap: {home}sitemap.xml" in text for home, text in robots.items())
    assert any("Crawl-delay" in text for text in robots.values())
    guarded = [re.search(r"/(calendar|browse|files|catalogue)", text) is not None for text in robots.values()]
    assert 0 < sum(guarded) < len(guarded)
    home = next(WEB.homes())
    listed = re.findall(r"<loc>(.*?)</loc>", WEB.respond(home + "sitemap.xml").body.decode())
    assert home in listed
    assert set(listed) <= TRUTH.keys()
    assert isinstance(ask(home + "robots.txt"), Fetch)


@given(
    st.text(max_size=30),
    st.sampled_from(["", "/", "old/", "print/", "links/", "files/", "staff/", "entry/", "browse?"]),
)
@settings(max_examples=200, deadline=None)
def test_any_text_is_answered(text: str, start: str) -> None:
    url = f"{PAGES[0]}{start}{text}"
    assert WEB.respond(url).status in (200, 301, 302, 404, 503)
    assert WEB.respond(text).status in (0, 404)
    WEB.links(url)


# ---- other plans ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosts", [1, 5, 96, 97])
@pytest.mark.parametrize("topics", [(1, 1, 1), (2, 1, 3), (8, 4, 3)])
def test_small_webs_work(hosts: int, topics: tuple[int, int, int]) -> None:
    web = ProceduralWeb(WebPlan(hosts=hosts, pages_per_host=12, topics=topics))
    for url, label in itertools.islice(web.labels(), 0, None, 11):
        assert web.label(url) == label
        assert found_by_parser(web, url) == web.links(url)


def test_host_names_are_read_back() -> None:
    hosts = Hosts(WebPlan(hosts=100_000), topic_tree((8, 4, 3)))
    numbers = [*range(3000), *range(99_000, 100_000)]
    names = [hosts.name(number) for number in numbers]
    assert len(set(names)) == len(names)
    assert [hosts.number(name) for name in names] == numbers
    assert all(re.fullmatch(r"[a-z0-9.-]+\.web\.test", name) for name in names)


def test_a_huge_web_costs_only_what_is_asked_for() -> None:
    web = ProceduralWeb(WebPlan(hosts=10_000, pages_per_host=1_000))
    seeds = web.seeds("Sports.Cycling.Racing", 20)
    assert len(seeds) == 20
    for url in seeds:
        assert web.label(url) == "Sports.Cycling.Racing"
        assert web.respond(url).status == 200


@pytest.mark.parametrize("fresh", [0, 25])
def test_the_reference_work(fresh: int) -> None:
    web = ProceduralWeb(WebPlan.reference(open=fresh > 0))
    pages = [url for url, _ in web.labels()]
    known = set(pages)
    assert 2_900 < len(pages) < 3_100
    assert len(web.topics()) == 20
    articles = [url for url in pages if re.search(r"\d{4,}(\.html)?$", url)]
    unseen: list[str] = []
    for url in spread(articles, 60):
        links = web.links(url)
        assert len(links) == 80
        assert 38_000 < len(web.respond(url).body) < 48_000
        unseen += [link for link in links if link not in known]
    assert len(unseen) == len(set(unseen)) == fresh * len(spread(articles, 60))
    for link in unseen[:50]:
        assert web.respond(link).status == 200
        assert web.label(link) in web.topics()


def test_a_plan_says_what_is_wrong_with_it() -> None:
    with pytest.raises(ValueError, match="hosts"):
        WebPlan(hosts=0)
    with pytest.raises(ValueError, match="tunnels"):
        WebPlan(tunnels=0.9)


# ---- no free lunch --------------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def visible(url: str) -> list[str]:
    tree = LexborHTMLParser(WEB.respond(url).body.decode())
    return words(tree.body.text(separator=" ")) if tree.body else []


Rows = dict[str, list[str]]


def log_odds(rows: Rows, positives: list[str], negatives: list[str]) -> dict[str, float]:
    """Naive Bayes with two classes: the weight of each word."""
    yes, no = (Counter(itertools.chain.from_iterable(rows[url] for url in urls)) for urls in (positives, negatives))
    vocabulary = yes.keys() | no.keys()
    total_yes, total_no = yes.total() + len(vocabulary), no.total() + len(vocabulary)
    return {w: float(np.log((yes[w] + 1) / total_yes) - np.log((no[w] + 1) / total_no)) for w in vocabulary}


def auc(positive: Iterable[float], negative: Iterable[float]) -> float:
    a, b = np.fromiter(positive, float), np.sort(np.fromiter(negative, float))
    ranks: NDArray[np.float64] = (np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")) / 2
    return float(np.mean(ranks) / len(b))


def learnt(topic: str, train: Rows, test: Rows) -> float:
    """AUC over the test rows of pages that are not in the training sample."""
    chance = np.random.default_rng(5)
    urls = [url for url in train if TRUTH[Url(url)] != NONE]
    order = [urls[i] for i in chance.permutation(len(urls))]
    yes = [url for url in order if middle(TRUTH[Url(url)]) == topic]
    no = [url for url in order if middle(TRUTH[Url(url)]) != topic]
    k = min(40, len(yes) // 3)
    weight = log_odds(train, yes[:k], no[:600])

    def scores(of: list[str]) -> Iterable[float]:
        return (sum(weight.get(word, 0.0) for word in test[url]) for url in of if url in test)

    return auc(scores(yes[k:]), scores(no[600:]))


@pytest.fixture(scope="module")
def texts() -> Rows:
    return {url: visible(url) for url in PAGES}


@pytest.fixture(scope="module")
def large_topics() -> list[str]:
    return [topic for topic, _ in Counter(map(middle, TRUTH.values())).most_common(7) if topic != NONE]


def test_a_critic_is_good_but_not_perfect(texts: Rows, large_topics: list[str]) -> None:
    reached = [learnt(topic, texts, texts) for topic in large_topics]
    assert 0.94 < np.mean(reached) < 0.99
    assert min(reached) > 0.9


def test_urls_alone_do_not_tell(large_topics: list[str]) -> None:
    whole: Rows = {url: words(url.removeprefix("http://").replace(".web.test", "")) for url in PAGES}
    paths: Rows = {url: words(url.removeprefix("http://").partition("/")[2]) for url in PAGES}
    of_urls = float(np.mean([learnt(topic, whole, whole) for topic in large_topics]))
    of_paths = float(np.mean([learnt(topic, paths, paths) for topic in large_topics]))
    assert 0.55 < of_paths < 0.85
    assert of_paths < of_urls < 0.9


def test_an_anchor_helps_but_does_not_tell(texts: Rows, large_topics: list[str]) -> None:
    chance = np.random.default_rng(6)
    found: dict[str, list[str]] = defaultdict(list)
    for url in PAGES:
        for target, text in WEB.anchors(url):
            if target in TRUTH:
                found[target].append(text)
    one = {url: words(of[int(chance.integers(len(of)))]) for url, of in found.items()}
    reached = float(np.mean([learnt(topic, texts, one) for topic in large_topics]))
    assert 0.6 < reached < 0.9


def test_no_tag_path_gives_a_topic_away() -> None:
    """Pages of a host are built alike whatever they are about."""
    classes = Counter[str]()
    for url in spread(PAGES, 200):
        classes.update(re.findall(r'(?:class|id)="(.*?)"', WEB.respond(url).body.decode()))
    assert set(classes) <= {"bar", "box", "entry", "top", "content", "bottom"}
