"""What a path model sees of pages and links: hashed features, a row each, in three blocks.

    page       of a page that was fetched
    arriving   of a link, for the page that it leads to: all that is known of that page before it is fetched
    leaving    of a link, for the page that it is on

The paper's observations, as binary features (`Sets.PAPER`); w runs over the keywords, which are the words of the topic
and of title, headings, keywords and description of the targets:

    O1         largest cosine of the page to a target          page: one feature for each tenth that it reaches
    O2         cosine of its description to those of targets   page: the same
    Ow         word w is on the page                           page
    O3         a link of the page has a keyword in its URL     page
    O4         the URL that leads here has a keyword           arriving
    O5,w       w is in the anchor, or near it                  arriving
    O6,w       the same of the link that is followed next      leaving

Ours (`Sets.OURS`): Ow; all words near a link and in its anchor, URL and nearest heading, not only keywords, numbers
alike ("cs302" is "cs0"); extension and depth of the URL, and how it lies to that of the page; title, headings and URL
of the page that the link is on (arriving), and of the page itself. Similarities, which cost most, are left out.

Most words are seen twice, of a link leaving and arriving, of a page itself and as that which a link is on. So `Said`
holds them once, by what they are of, and a feature is a word and one of the places that follow from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.chains.vocabulary import Vocabulary
from forager.similarity import Idf, Targets
from forager.text import (
    ROW_END,
    count,
    distinct,
    mixed,
    row_terms,
    salt_part,
    term,
    term_part,
    terms,
    url_terms,
    url_text,
    words,
)
from forager.types import Links, Page, Parts, Ragged, Terms, Url, stretches
from forager.urls import host

Places: TypeAlias = NDArray[np.integer[Any]]
Relation: TypeAlias = tuple[str, int, str, bool]  # extension, depth, place, whether it is somebody's home

VERSION = 1
NEAR, CLOSE = 10, 4  # words on either side of an anchor: ours, and the paper's least
TENTHS = np.arange(0.1, 1.0, 0.1)
MOST_TARGETS = 250  # that a page is compared with
_DIGITS = re.compile(r"\d+")
_MANY_ZEROS = re.compile("00+")
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_WORD_BITS, _KIND_BITS = 32, 5  # of a key: row, kind, word

# Places: the same word is another feature in each.
(
    TEXT, DESCRIPTION, WORD, LINKED, LED, ANCHOR_IN, ANCHOR_OUT,
    A_IN, A_OUT, B_IN, B_OUT, C_IN, C_OUT, H_IN, H_OUT, U_IN, U_OUT, L_IN, L_OUT, RELATION,
    TITLE_IN, HEAD_IN, URL_IN, SIZE_IN, TITLE, HEAD, URL, SIZE,
) = range(28)  # fmt: skip
NOWHERE = -1


class Kind(NamedTuple):
    """What a word is of."""

    here: int  # its place for the page that was fetched
    ahead: int  # and for the page that a link leads to
    told: str


KINDS = (
    Kind(A_OUT, A_IN, "{} in the anchor"),
    Kind(B_OUT, B_IN, "{} before the anchor"),
    Kind(C_OUT, C_IN, "{} behind the anchor"),
    Kind(H_OUT, H_IN, "{} in the heading above"),
    Kind(U_OUT, U_IN, "{} in the URL"),
    Kind(L_OUT, L_IN, "{} in the last part of the URL"),
    Kind(NOWHERE, RELATION, "URL: {}"),
    Kind(ANCHOR_OUT, ANCHOR_IN, "{} in the anchor or near it"),
    Kind(NOWHERE, LED, "a keyword in the URL"),
    Kind(TITLE, TITLE_IN, "{} in the title of the page"),
    Kind(HEAD, HEAD_IN, "{} in a heading of the page"),
    Kind(URL, URL_IN, "{} in the URL of the page"),
    Kind(SIZE, SIZE_IN, "size of the page: {}"),
    Kind(WORD, NOWHERE, "{} on the page"),
    Kind(TEXT, NOWHERE, "the page like a target by .{} or more"),
    Kind(DESCRIPTION, NOWHERE, "the description like that of a target by .{} or more"),
    Kind(LINKED, NOWHERE, "a keyword in the URL of a link of the page"),
)
(
    ANCHOR, BEFORE, BEHIND, ABOVE, ADDRESS, LAST, LIES, ANCHORED, LED_BY,
    ENTITLED, HEADED, ADDRESSED, SIZED, HELD, ALIKE, DESCRIBED, LINKING,
) = range(len(KINDS))  # fmt: skip
_HERE, _AHEAD = (np.array(places, np.int64) for places in list(zip(*KINDS, strict=True))[:2])
_IS_HERE, _IS_AHEAD = _HERE != NOWHERE, _AHEAD != NOWHERE
_SALT_HERE, _SALT_AHEAD = salt_part(_HERE), salt_part(_AHEAD)


class Sets(StrEnum):
    """Which observations are made."""

    OURS = "ours"
    PAPER = "all"
    WORDS = "words"  # Ow alone
    TEXT = "text"  # all but Ow


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Words of n links, rows 0 to n - 1, and of the page that they are on, row n: each once in a row and kind."""

    values: Terms  # (e,)
    kinds: Places  # (e,) of KINDS
    rows: Places  # (e,) ascending
    count: int  # n + 1

    @classmethod
    def of(cls, keys: Sequence[NDArray[np.int64]], count: int) -> Self:
        once = distinct(np.concatenate(keys))
        codes = once >> _WORD_BITS
        return cls(once.astype(np.uint32), codes & ((1 << _KIND_BITS) - 1), codes >> _KIND_BITS, count)

    @property
    def apart(self) -> Self:
        """Every word in a row of its own."""
        return replace(self, rows=np.arange(len(self.values)), count=len(self.values))

    @property
    def features(self) -> Ragged:
        """What is seen here: leaving features of each link, those of the page; and as many rows of what is seen ahead:
        arriving features of each link, those that all links of the page have."""
        words, ends = term_part(self.values), np.searchsorted(self.rows, np.arange(self.count + 1))
        both = np.concatenate((words + _SALT_HERE.take(self.kinds), words + _SALT_AHEAD.take(self.kinds)))
        seen = np.flatnonzero(np.concatenate((_IS_HERE.take(self.kinds), _IS_AHEAD.take(self.kinds))))
        return Ragged(mixed(both.take(seen)), np.searchsorted(seen, np.concatenate((ends[:-1], ends + len(words)))))


@dataclass(frozen=True, eq=False)
class Observer:
    """Sees pages and links as in training."""

    sets: Sets
    keywords: Terms  # ascending
    targets: Targets
    described: Targets

    def said(self, page: Page, links: Links) -> Said:
        """Of links of a page, and of the page."""
        keys = []
        if self.sets is not Sets.TEXT:
            own = page.bag.terms
            keys.append(_keys(own[self._index.find(own)[1]], HELD, len(links)))
        if self.sets is Sets.OURS:
            keys.append(_ours(page, links))
        elif self.sets is not Sets.WORDS:
            keys += [*self._of_page(page, len(links)), *self._of_links(page, links)]
        return Said.of(keys, len(links) + 1)

    def _of_page(self, page: Page, row: int) -> Iterable[NDArray[np.int64]]:
        """O1, O2 and O3"""
        yield _keys(_tenths(_largest(self.targets, page.terms.values)), ALIKE, row)
        yield _keys(_tenths(_largest(self.described, terms([page.description])[0])), DESCRIBED, row)
        linked = self._index.find(url_terms(page.links.targets).values)[1].any()
        yield _keys(np.zeros(int(linked), np.uint32), LINKING, row)

    def _of_links(self, page: Page, links: Links) -> Iterable[NDArray[np.int64]]:
        """O5 and O6, and O4"""
        first, last = page.terms.offsets[links.first_leaf], page.terms.offsets[links.last_leaf + 1]
        start, end = np.maximum(first - CLOSE, 0), np.minimum(last + CLOSE, len(page.terms.values))
        at, near = _spans(start, end)
        held = self._index.find(page.terms.values[at])[1]
        yield _keys(page.terms.values[at[held]], ANCHORED, near[held])
        addresses = url_terms(links.targets)
        led = np.repeat(np.arange(len(links)), addresses.lengths)[self._index.find(addresses.values)[1]]
        yield _keys(np.zeros(len(led), np.uint32), LED_BY, led)

    @cached_property
    def _index(self) -> Vocabulary:
        return Vocabulary(self.keywords)

    def told(self, page: Page, links: Links, said: Said) -> list[str]:
        """What was said, in words."""
        said_too = _texts(page, links)[0].split(ROW_END)
        spelt = {term(word): word for text in (*page.leaves, *said_too) for word in words(text)}
        spelt |= {step: str(step + 1) for step in range(len(TENTHS))}
        pairs = zip(said.values.tolist(), said.kinds.tolist(), strict=True)
        return [KINDS[kind].told.format(spelt.get(value, "…")) for value, kind in pairs]

    # ---- learning and keeping

    @classmethod
    def of(cls, sets: Sets, topic: Iterable[str], targets: Sequence[Page], idf: Idf, most: int, seed: int) -> Self:
        """`topic`: words of it; `most`: keywords besides them."""
        drawn = np.random.default_rng(seed).permutation(len(targets))[:MOST_TARGETS]
        some = [targets[i] for i in np.sort(drawn).tolist()]
        described = [bag for page in some if len(bag := terms([page.description])[0])]
        bags = Ragged.of([page.terms.values for page in some])
        keywords = np.union1d(np.array([term(word) for word in topic], np.uint32), _keywords_of(targets, most))
        return cls(sets, keywords, Targets(bags, idf), Targets(Ragged.of(described), idf))

    def parts(self) -> Parts:
        return {
            "sets": self.sets.value,
            "keywords": self.keywords,
            **{f"text.{name}": part for name, part in self.targets.parts().items()},
            **{f"description.{name}": part for name, part in self.described.parts().items()},
        }

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        text, described = (
            Targets.from_parts({name.removeprefix(kind): part for name, part in parts.items() if name.startswith(kind)})
            for kind in ("text.", "description.")
        )
        return cls(Sets(parts["sets"]), np.asarray(parts["keywords"], np.uint32), text, described)


def _keywords_of(targets: Sequence[Page], most: int) -> Terms:
    """Of title, headings, keywords and description; those that most targets have, the smaller hash in a tie."""
    said = [terms([page.title, page.keywords, page.description, *_headings(page)]).values for page in targets]
    if not said:
        return np.empty(0, np.uint32)
    found, times = count(np.concatenate([np.unique(each) for each in said]))
    return np.sort(found[np.argsort(-times, kind="stable")[:most]])


def _headings(page: Page) -> list[str]:
    return [page.text(heading.first_leaf, heading.last_leaf) for heading in page.headings]


# ---- what is ours ---------------------------------------------------------------------------------------------------


def _ours(page: Page, links: Links) -> NDArray[np.int64]:
    """Keys of all words of a page and its links but Ow."""
    said, used, codes = _texts(page, links)
    hashed, rows = row_terms(said), np.arange(len(links)) << _KIND_BITS
    begin, end = page.terms.offsets.take(links.first_leaf), page.terms.offsets.take(links.last_leaf + 1)
    before, behind = np.maximum(begin - NEAR, 0), np.minimum(end + NEAR, len(page.terms.values))
    skipped = len(hashed.values)
    at, span = _spans(
        np.concatenate((hashed.offsets.take(used), skipped + before, skipped + end)),
        np.concatenate((hashed.offsets.take(used + 1), skipped + begin, skipped + behind)),
    )
    keys = np.concatenate((codes, rows | BEFORE, rows | BEHIND)) << _WORD_BITS
    return keys.take(span) | np.concatenate((hashed.values, page.terms.values)).take(at)


def _texts(page: Page, links: Links) -> tuple[str, Places, Places]:
    """All texts as one, because to look at each takes longer; which are used, and for what row and kind."""
    heads, n = _headings(page), len(links)
    paths = [target[target.find("/", 8) :] for target in links.targets]
    lasts = [path.rstrip("/").rpartition("/")[2] for path in paths]
    relations = _relations(page.url, links.targets, paths)
    often = {relation: number for number, relation in enumerate(dict.fromkeys(relations))}
    texts, addresses = (
        _alike([*heads, page.title, *links.anchors]),
        _alike([page.url.partition("://")[2], *paths, *lasts]),
    )
    said = ROW_END.join([texts, _plain(addresses), *map(_spoken, often), _size(page)])
    once = len(heads) + 3 * n + 2
    under, above = _above(page, links)
    lies = once + np.array([often[relation] for relation in relations], np.int64)
    used = np.concatenate((np.arange(once), above, lies, [once + len(often)]))
    rows, own = np.arange(n) << _KIND_BITS, n << _KIND_BITS
    of_page = [own | HEADED] * len(heads) + [own | ENTITLED]
    of_links = (rows | ANCHOR, [own | ADDRESSED], rows | ADDRESS, rows | LAST, rows[under] | ABOVE, rows | LIES)
    return said, used, np.concatenate((of_page, *of_links, [own | SIZED]))


def _above(page: Page, links: Links) -> tuple[Places, Places]:
    """Links below a heading, and the last one before each."""
    ends = np.array([heading.last_leaf for heading in page.headings], np.int64)
    last = np.searchsorted(ends, links.first_leaf) - 1
    under = np.flatnonzero(last >= 0)
    return under, last[under]


def _alike(texts: Sequence[str]) -> str:
    """Texts as one. Numbers are all the same: "CS302" is "CS0"."""
    joined = ROW_END.join(texts)
    if joined.count(ROW_END) >= len(texts):
        joined = ROW_END.join([text.replace(ROW_END, " ") for text in texts])
    if not joined.isascii():
        texts = joined.split(ROW_END)
        joined = ROW_END.join([text if text.isascii() else _DIGITS.sub("0", text) for text in texts])
    zeros = joined.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")
    return _MANY_ZEROS.sub("0", zeros)


def _plain(addresses: str) -> str:
    """As `url_terms` takes them: escapes undone, underscores separate. The first comes without its scheme."""
    if "%" in addresses or "://" in addresses:
        own, *others = addresses.split(ROW_END)
        undone = [url_text(f"http://{own}"), *map(url_text, others)]
        return ROW_END.join([address.replace(ROW_END, " ") for address in undone])
    return addresses.replace("_", " ")


def _size(page: Page) -> str:
    """How many links and words a page has, by powers of two."""
    links, held = ((count + 1).bit_length() - 1 for count in (len(page.links), len(page.terms.values)))
    return f"links{links} words{held}"


def _relations(source: Url, targets: Sequence[Url], paths: Sequence[str]) -> list[Relation]:
    """Of each URL, seen from another; its path begins with "/"."""
    here, own = source[: source.rfind("/") + 1], host(source)
    same, folder = (f"http://{own}/", f"https://{own}/"), len(here)
    relations = []
    for target, path in zip(targets, paths, strict=True):
        if "?" in path:
            path = path[: path.find("?")]
        slash, dot = path.rfind("/"), path.rfind(".")
        extension = path[dot + 1 :] if dot > slash else "none" if slash + 1 < len(path) else "folder"
        if target.startswith(here):
            place = "below" if target.find("/", folder) > 0 else "beside"
        elif target.startswith(same):
            place = "above" if source.startswith(target[: target.rfind("/") + 1]) else "across"
        else:
            place = "elsewhere"
        relations.append((extension, path.count("/"), place, "~" in path))
    return relations


def _spoken(relation: Relation) -> str:
    extension, depth, place, home = relation
    return f"ext_{extension} depth{depth} {place} {'home' if home else ''}"


# ---- keys -----------------------------------------------------------------------------------------------------------


def _keys(values: Terms, kind: int, rows: Places | int) -> NDArray[np.int64]:
    """That ascend by row, kind and word."""
    codes = np.asarray(rows, np.int64) << _KIND_BITS | kind
    keys: NDArray[np.int64] = codes << _WORD_BITS | values
    return keys


def _spans(starts: Places, ends: Places) -> tuple[Places, Places]:
    """Every place from each start to before its end, and which span it is of."""
    lengths = ends - starts
    return stretches(starts, lengths), np.repeat(np.arange(len(starts)), lengths)


def _largest(targets: Targets, bag: Terms) -> float:
    """max over d of cos(bag, d)"""
    if not len(targets) or not len(bag):
        return 0.0
    return float(targets.cosines(Ragged(bag, np.array([0, len(bag)], np.int64))).max())


def _tenths(value: float) -> Terms:
    return np.arange(int((value >= TENTHS).sum()), dtype=np.uint32)
