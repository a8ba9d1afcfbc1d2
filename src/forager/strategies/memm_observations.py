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

from forager.chains.held import ROW_BITS, Codes, Held
from forager.chains.vocabulary import Vocabulary
from forager.similarity import Idf, Targets
from forager.text import (
    ROW_END,
    count,
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
from forager.types import Links, Mask, Page, Parts, Ragged, Terms, Url, stretches
from forager.urls import host

Places: TypeAlias = NDArray[np.integer[Any]]
Relation: TypeAlias = tuple[str, int, str, bool]  # extension, depth, place, whether it is somebody's home

VERSION = 1
NEAR, CLOSE = 10, 4  # words on either side of an anchor: ours, and the paper's least
TENTHS = np.arange(0.1, 1.0, 0.1)
MOST_TARGETS = 250  # that a page is compared with
_DIGITS = re.compile(r"\d+")
_MANY_ZEROS = re.compile(b"00+")
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_WORD_BITS = 32  # and the bits before them are its kind

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
_OF = [kind << _WORD_BITS + ROW_BITS for kind in range(len(KINDS))]  # what it adds to a key


class Sets(StrEnum):
    """Which observations are made."""

    OURS = "ours"
    PAPER = "all"
    WORDS = "words"  # Ow alone
    TEXT = "text"  # all but Ow


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Words of n links, rows 0 to n - 1, and of the page that they are on, row n: each once in a row and kind."""

    held: Held  # its words are of a kind: one of KINDS << _WORD_BITS | word

    @property
    def values(self) -> Terms:
        return self.held.codes.astype(np.uint32)

    @property
    def kinds(self) -> Places:
        return self.held.codes >> _WORD_BITS

    @property
    def count(self) -> int:
        """n + 1"""
        return self.held.count

    @property
    def apart(self) -> Self:
        """Every word in a row of its own."""
        return replace(self, held=self.held.apart)

    def features(self) -> tuple[Terms, Mask]:
        """Of each word: the feature that it is here, leaving or of the page; then those that they are ahead, arriving
        or of all links of the page. And whether it is one at all."""
        words, kinds = term_part(self.values), self.kinds
        both = np.concatenate((words + _SALT_HERE.take(kinds), words + _SALT_AHEAD.take(kinds)))
        return mixed(both), np.concatenate((_IS_HERE.take(kinds), _IS_AHEAD.take(kinds)))

    def by_rows(self) -> Ragged:
        """The features here of each row, then as many rows of those ahead."""
        features, are = self.features()
        words, count = np.repeat(np.arange(len(self.values)), np.diff(self.held.offsets)), self.count
        order = np.argsort(np.concatenate((self.held.rows, self.held.rows + count)), kind="stable")
        each = np.concatenate((words, words + len(self.values)))[order]
        rows = np.concatenate((self.held.rows, self.held.rows + count))[order]
        seen = are[each]
        return Ragged(features[each[seen]], np.searchsorted(rows[seen], np.arange(2 * count + 1)))


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
            keys.append(_keys(self._held(page.bag.terms), HELD, len(links)))
        if self.sets is Sets.OURS:
            keys.append(_ours(page, links))
        elif self.sets is not Sets.WORDS:
            keys += [*self._of_page(page, len(links)), *self._of_links(page, links)]
        return Said(Held.of(keys, len(links) + 1))

    def _held(self, own: Terms) -> Terms:
        """The keywords among terms that ascend."""
        if not len(own):
            return own
        held: Mask = own.take(own.searchsorted(self.keywords), mode="clip") == self.keywords
        return self.keywords[held]

    def _of_page(self, page: Page, row: int) -> Iterable[Codes]:
        """O1, O2 and O3"""
        yield _keys(_tenths(_largest(self.targets, page.terms.values)), ALIKE, row)
        yield _keys(_tenths(_largest(self.described, terms([page.description])[0])), DESCRIBED, row)
        linked = self._index.find(url_terms(page.links.targets).values)[1].any()
        yield _keys(np.zeros(int(linked), np.uint32), LINKING, row)

    def _of_links(self, page: Page, links: Links) -> Iterable[Codes]:
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


def _ours(page: Page, links: Links) -> Codes:
    """Keys of all words of a page and its links but Ow."""
    said, first, last, keys = _texts(page, links)
    hashed, rows = row_terms(said), np.arange(len(links))
    begin, end = page.terms.offsets.take(links.first_leaf), page.terms.offsets.take(links.last_leaf + 1)
    before, behind = np.maximum(begin - NEAR, 0), np.minimum(end + NEAR, len(page.terms.values))
    skipped = len(hashed.values)
    at, span = _spans(
        np.concatenate((hashed.offsets.take(first), skipped + before, skipped + end)),
        np.concatenate((hashed.offsets.take(last + 1), skipped + begin, skipped + behind)),
    )
    keys = np.concatenate((keys, rows | _OF[BEFORE], rows | _OF[BEHIND]))
    words = np.concatenate((hashed.values, page.terms.values)).astype(np.int64) << ROW_BITS
    return keys.take(span) | words.take(at)


def _texts(page: Page, links: Links) -> tuple[str, Places, Places, Codes]:
    """Texts as one, because to look at each takes longer; the first and the last of them that are used together, and
    the key of their words but for the word."""
    heads, (addresses, lies, relations) = _headings(page), _addresses(page.url, links.targets)
    texts = _alike([*heads, page.title, *links.anchors]), _plain(_alike(addresses))
    said = ROW_END.join((_size(page), *texts, *map(_spoken, relations)))
    rows, n, own = np.arange(len(links)), len(links), len(heads) + 2 + len(links)
    parts = np.arange(own + 1, own + 1 + 2 * n, 2)
    under, above = _above(page, links)
    last = [np.arange(own + 1), parts + 1, parts + 1, above + 1, lies + (own + 1 + 2 * n)]
    first = [last[0], parts, *last[2:]]
    of_page = [n | _OF[kind] for kind in (SIZED, *[HEADED] * len(heads), ENTITLED)]
    of_links = (rows | _OF[ANCHOR], [n | _OF[ADDRESSED]], rows | _OF[ADDRESS], rows | _OF[LAST])
    keys = np.concatenate((of_page, *of_links, under | _OF[ABOVE], rows | _OF[LIES]))
    return said, np.concatenate(first), np.concatenate(last), keys


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
    zeros = joined.encode("utf-8", "surrogatepass").translate(_ZEROS)
    return _MANY_ZEROS.sub(b"0", zeros).decode("utf-8", "surrogatepass")


def _plain(addresses: str) -> str:
    """As `url_terms` takes them: escapes undone, underscores separate, of a URL within a URL only that."""
    if "://" in addresses:
        own, *parts = addresses.split(ROW_END)
        parts[::2] = [part.partition("://")[2] if "://" in part else part for part in parts[::2]]
        addresses = ROW_END.join((own, *parts))
    undone, done = [], 0
    while (at := addresses.find("%", done)) >= 0:
        start, end = addresses.rfind(ROW_END, 0, at) + 1, (addresses + ROW_END).find(ROW_END, at)
        undone += [addresses[done:start], url_text(f"http://{addresses[start:end]}").replace(ROW_END, " ")]
        done = end
    return "".join((*undone, addresses[done:])).replace("_", " ")


def _size(page: Page) -> str:
    """How many links and words a page has, by powers of two."""
    links, held = ((count + 1).bit_length() - 1 for count in (len(page.links), len(page.terms.values)))
    return f"links{links} words{held}"


def _addresses(source: Url, targets: Sequence[Url]) -> tuple[list[str], Places, list[Relation]]:
    """A URL without its scheme, then the path of each of the others in two, cut before its last part; how these lie to
    the first, as numbers of relations."""
    here, own = source[: source.rfind("/") + 1], host(source)
    same, folder = (f"http://{own}/", f"https://{own}/"), len(here)
    parts, relations, lies = [source.partition("://")[2]], dict[Relation, int](), []
    for target in targets:
        path = target[target.find("/", 8) :]
        cut = path.rfind("/", 0, len(path.rstrip("/"))) + 1
        parts += (path[:cut], path[cut:])
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
        relation = (extension, path.count("/"), place, "~" in path)
        lies.append(relations.setdefault(relation, len(relations)))
    return parts, np.array(lies, np.int64), list(relations)


def _spoken(relation: Relation) -> str:
    extension, depth, place, home = relation
    return f"ext_{extension} depth{depth} {place} {'home' if home else ''}"


# ---- keys -----------------------------------------------------------------------------------------------------------


def _keys(words: Terms, kind: int, rows: Places | int) -> Codes:
    """As `Held` takes them."""
    keys: Codes = words.astype(np.int64) << ROW_BITS | rows | _OF[kind]
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
