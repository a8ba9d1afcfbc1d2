"""The only place a Url is made: WHATWG parsing by ada-url, then one canonical form.

Two spellings of one address must give one string, or the page is fetched twice. Two different pages must not give the
same string, or one of them is lost. So only safe changes are made: the fragment, credentials and an empty query are
dropped; case, default port, dot segments and IDNA follow WHATWG; escapes of unreserved characters are decoded, all
others are written in upper case (RFC 3986, 6.2.2); parameters that only track a visitor or carry a session are
stripped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from ipaddress import ip_address
from pathlib import Path

from ada_url import join_url, normalize_url
from publicsuffixlist import PSLFILE, PublicSuffixList

from forager.types import Url

# A * at the end means any ending. Only names with no other common use: on many sites "sid" and "ref" name content.
TRACKING = (
    *("utm_*", "gclid", "gclsrc", "dclid", "wbraid", "gbraid", "fbclid", "msclkid", "yclid", "twclid", "ttclid"),
    *("igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "vero_id", "oly_anon_id", "oly_enc_id"),
)
SESSION = ("phpsessid", "jsessionid", "aspsessionid*", "cfid", "cftoken", "sessionid", "session_id", "zenid", "oscsid")
LONGEST = 2_000

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid)=[^/;?]*", re.IGNORECASE)

# Most references have only characters and escapes that are already canonical.
_ESCAPES = "%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF])"
_PATH, _QUERY = (rf"[{kept}]*+(?:{_ESCAPES}[{kept}]*+)*+" for kept in (r"\w~!$&()*+,=@./-", r"\w~!$&()*+,=@./:;-"))
_ORIGIN = r"https?://(?:[a-z0-9-]++\.)*+[a-z]++(?=/)"
_PLAIN = re.compile(
    rf"((?:\.\./)++(?!/))?((?:{_ORIGIN})?(?!//|[.?#]|\Z){_PATH}(?:\?({_QUERY}))?)(?:#[\w.-]*+)?", re.ASCII
)
_ABSOLUTE = ("http://", "https://")
# Navigation and links to the same pages repeat. On 200 pages of the reference web 63 % of the references were known,
# which saves 0.06 of 0.10 ms a page; on 150 pages of wikispeedia 39 %, which saves 0.01 of 0.06 ms. About 10 MB. When
# it is full, all of it is forgotten.
_REMEMBERED, _SHORT = 30_000, 300  # references, characters of one
_NAMES = 4096  # of parameters


@dataclass(frozen=True)
class UrlRules:
    """Which URLs are accepted, and which spellings mean the same URL."""

    strip: tuple[str, ...] = ()  # parameters stripped besides TRACKING and SESSION; a * at the end means any ending
    longest: int = LONGEST
    _stripped: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _joined: dict[tuple[str, str], Url] = field(init=False, repr=False, compare=False, default_factory=dict)
    _names: dict[str, bool] = field(init=False, repr=False, compare=False, default_factory=dict)  # is it kept?

    def __post_init__(self) -> None:
        names = (re.escape(name).replace(r"\*", "[^=]*") for name in (*TRACKING, *SESSION, *self.strip))
        object.__setattr__(self, "_stripped", re.compile(rf"(?:{'|'.join(names)})(?:=|$)", re.IGNORECASE))

    def canonical(self, text: str) -> Url | None:
        """The canonical form of an absolute URL. None if the text is no URL, is not http(s), or is too long."""
        try:
            return self._canonical(normalize_url(text))
        except (ValueError, UnicodeError):
            return None

    def join(self, base: Url, href: str) -> Url | None:
        """The canonical target of a reference on a page at `base`. None as in `canonical`."""
        return self.join_all(base, (href,))[0]

    def join_all(self, base: Url, hrefs: Iterable[str]) -> list[Url | None]:
        """The targets of many references on one page."""
        top, folder = base[: _top(base)], _folder(base, 0)
        joined, targets = self._joined, []
        for href in hrefs:
            if href.startswith("/"):
                within = top
            elif href.startswith(_ABSOLUTE):
                within = ""
            else:
                within = folder
            target = joined.get((within, href))
            targets.append(target if target is not None else self._join(base, within, href))
        return targets

    def _join(self, base: Url, within: str, href: str) -> Url | None:
        """The target of one reference. Often strings need only be put together: parsing them takes 2.5x as long."""
        plain = _PLAIN.fullmatch(href)
        if plain is not None:
            ups, rest, query = plain.groups()
            url = Url((_folder(base, len(ups) // 3) if ups else within) + rest)
            if len(url) <= self.longest and self._stays(rest, query):  # in this order, because names are remembered
                if len(self._joined) >= _REMEMBERED:
                    self._joined.clear()
                if len(within) + len(href) <= _SHORT:
                    self._joined[within, href] = url
                return url
        try:
            return self._canonical(join_url(base, href))
        except (ValueError, UnicodeError):
            return None

    def _stays(self, rest: str, query: str | None) -> bool:
        """Whether a reference has no dot segments, no host name that may be wrong, and nothing to strip."""
        return "/." not in rest and "xn--" not in rest and (query is None or self._keeps(query))

    def _keeps(self, query: str) -> bool:
        """Whether nothing of a query is stripped. Remembered by name, because a site has few names and the pattern is
        slow."""
        for pair in query.split("&"):
            name = pair.partition("=")[0]
            kept = self._names.get(name)
            if kept is None:
                if len(self._names) >= _NAMES:
                    self._names.clear()
                kept = self._names[name] = not self._stripped.match(name)
            if not kept or not pair:
                return False
        return True

    def _canonical(self, whatwg: str) -> Url | None:
        scheme, _, rest = whatwg.partition("://")
        if scheme not in ("http", "https") or len(whatwg) > 4 * self.longest:
            return None
        rest, _, _ = rest.partition("#")
        authority, slash, path = rest.partition("/")
        path, _, query = path.partition("?")
        host, path, query = _bare_host(authority), _escapes(path), _escapes(query)
        again = host != authority  # without its dot a name may be a number: "2130706433.."
        if ";" in path:
            path, stripped = _PATH_SESSION.subn("", path)
            again = again or stripped > 0  # and "/.;jsessionid=1" a dot segment
        if query:
            query = "&".join(pair for pair in query.split("&") if pair and not self._stripped.match(pair))
        url = f"{scheme}://{host}{slash}{path}{'?' if query else ''}{query}"
        if again:
            return self._canonical(normalize_url(url))
        return Url(url) if len(url) <= self.longest else None


def _top(url: Url) -> int:
    """Where the path begins."""
    return url.index("/", url.index("://") + 3)


@lru_cache(maxsize=256)
def _folder(base: Url, above: int) -> str:
    """The folder of a page, or the one so many levels above it. Above the top folder is the top folder."""
    top = _top(base) + 1
    end = base.partition("?")[0].rindex("/") + 1
    while above and end > top:
        end = base.rindex("/", 0, end - 1) + 1
        above -= 1
    return base[:end]


def _bare_host(authority: str) -> str:
    """The host without credentials, and without the dot at the end of a fully qualified name."""
    host = authority.rpartition("@")[2]
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit():
        return f"{name.rstrip('.')}:{port}"
    return host.rstrip(".")


def _escapes(text: str) -> str:
    return _ESCAPE.sub(_escape, text) if "%" in text else text


def _escape(found: re.Match[str]) -> str:
    digits = found[1]
    if digits is None:  # a % without digits means itself; unescaped, it could make a new escape with decoded digits
        return "%25"
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else f"%{digits.upper()}"


def host(url: Url) -> str:
    """The host name, with the port unless it is the default port of the scheme."""
    return url[url.index("://") + 3 : _top(url)]


@lru_cache(maxsize=100_000)
def site(host: str) -> str:
    """The registrable domain of a host. The host itself if it has none (addresses, single labels)."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name[-1] in "0123456789]" and _is_address(name.strip("[]")):  # asked of few: no takes three times the rest
        return name
    return _suffixes().privatesuffix(name) or name


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@cache
def _suffixes() -> PublicSuffixList:
    """The list of public suffixes, with those that are not ASCII also encoded. The library would encode them all, and
    take three times as long."""
    listed = Path(PSLFILE).read_text(encoding="utf-8").splitlines()
    encoded = [_encoded(rule) for rule in listed if not (rule.isascii() or rule.startswith("//"))]
    return PublicSuffixList(source=[*listed, *encoded], accept_encoded_idn=False)


def _encoded(rule: str) -> str:
    exception = "!" if rule.startswith("!") else ""
    return exception + rule.removeprefix("!").encode("idna").decode()


RULES = UrlRules()
