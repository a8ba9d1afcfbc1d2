"""From the bytes of an answer to text: which charset it has, also if the server declares a wrong one.

The order is that of browsers: byte-order mark, header, <meta>, then the bytes themselves. There are two differences,
because many servers declare a charset without looking. Valid UTF-8 is read as UTF-8 even if windows-1252 is declared.
If UTF-8 is declared but most of the text is not valid UTF-8, the next candidate is taken.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

import numpy as np

_PRESCAN = 4096  # bytes; the standard reads 1024, but many pages declare a little later
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META_CHARSET = re.compile(rb"""<meta[^>]{1,500}?charset\s*=\s*["']?\s*([\w:.-]{1,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{1,200}?encoding\s*=\s*["']([\w:.-]{1,40})""")
_NULS = re.compile(rb"\0+")
_LEAST = 9  # bytes below: no charset has them in text, of random bytes they are 3.5 %
_FEW, _SHARE = 8, 200  # so many of them are slips, or one in so many bytes
_LONG = 4096  # so many random bytes have a NUL byte among them
# How files begin that are no text. Where letters alone could begin a text, what follows them counts, too.
_BEGINNINGS = (
    *(rb"%PDF", rb"%!PS", rb"\{\\rtf1", rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", rb"AT&TFORM"),  # documents, old Office
    *(rb"\x89PNG", rb"GIF8[79]a", rb"\xff\xd8\xff", rb"RIFF.{4}(?:WEBP|WAVE|AVI )", rb"8BPS\0"),  # pictures, sound
    *(rb"BM.{4}\0{4}", rb"II\*\0", rb"MM\0\*", rb"\0\0[\x01\x02]\0", rb"\0.{3}(?:ftyp|moov|mdat)", rb"\x1aE\xdf\xa3"),
    *(rb"OggS\0", rb"fLaC\0", rb"ID3[\x02-\x04]\0", rb"MThd\0", rb"FLV\x01", rb"\0\0\x01[\xb3\xba]"),
    *(rb"PK\x03\x04", rb"PK\x05\x06", rb"\x1f\x8b", rb"\x1f\x9d", rb"BZh[1-9]1AY", rb"\xfd7zXZ\0"),  # archives
    *(rb"\x28\xb5\x2f\xfd", rb"7z\xbc\xaf", rb"Rar!\x1a\x07", rb"MSCF\0", rb"!<arch>\n", rb".{257}ustar[\0 ]"),
    *(rb"\x7fELF", rb"MZ.{3}\0", rb"\xca\xfe\xba\xbe", rb"[\xce\xcf]\xfa\xed\xfe", rb"\0asm", rb"dex\n03"),  # programs
    *(rb"wOF[F2](?:\0\x01\0\0|OTTO|true)", rb"OTTO\0", rb"\0\x01\0\0\0", rb"ttcf\0"),  # fonts
    *(rb"SQLite format 3\0", rb"\x89HDF", rb"PAR1\x15", rb"CDF\x01"),  # tables
)
MAGIC = re.compile(b"|".join(_BEGINNINGS), re.DOTALL)
_UTF16_MARKUP = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))

# Python codecs and the WHATWG labels that mean them. Other labels are ignored, so no page can name a codec like zlib.
_LABELS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16-le": "utf-16 utf-16le ucs-2 unicode iso-10646-ucs-2 csunicode unicodefeff",
    "utf-16-be": "utf-16be unicodefffe",
    "cp1252": "windows-1252 cp1252 x-cp1252 ascii us-ascii ansi_x3.4-1968 latin1 latin-1 l1 iso-8859-1 iso8859-1 "
    "iso_8859-1 iso88591 iso_8859-1:1987 iso-ir-100 csisolatin1 cp819 ibm819",
    "iso8859-2": "iso-8859-2 iso8859-2 iso_8859-2 iso88592 latin2 l2 csisolatin2",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso_8859-9 latin5 l5",
    "cp874": "windows-874 dos-874 iso-8859-11 iso8859-11 tis-620",
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 chinese csgb2312 iso-ir-58",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5 csbig5",
    "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms932 ms_kanji csshiftjis",
    "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "cp949": "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean windows-949 cseuckr iso-ir-149",
    "koi8-r": "koi8-r koi8_r koi8 koi cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman csmacintosh",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp866": "ibm866 866 cp866 csibm866",
    **{f"iso8859-{n}": f"iso-8859-{n} iso8859-{n} iso_8859-{n}" for n in (3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"cp125{n}": f"windows-125{n} cp125{n} x-cp125{n}" for n in (0, 1, 3, 5, 6, 7, 8)},
}
_CODECS = {label: name for name, labels in _LABELS.items() for label in labels.split()}
_WIDE = ("utf-16-le", "utf-16-be")


def codec(label: str) -> str:
    """The Python codec a charset label means on the web; "" if it means none."""
    return _CODECS.get(label.strip(" \t\n\f\r\"'").lower(), "")


def decode(body: bytes, charset: str = "") -> str:
    """The text of a body, with U+FFFD for what cannot be read. `charset` is what the header says, or empty."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    wide = _wide(body, codec(charset))
    if wide:
        return body.decode(wide, "replace")
    declared = [name for name in (codec(charset), _declared(body)) if name and name not in _WIDE]
    for name in _candidates(body, declared):
        try:
            return body.decode(name)
        except UnicodeDecodeError:
            continue
    return _lenient(body, declared)


def is_binary(body: bytes, charset: str = "") -> bool:
    """Whether a body has bytes throughout that no text has. A run of NUL bytes is a hole in a file and counts once,
    unless there is nothing else."""
    if 0 not in body and len(body) > _LONG:  # 1 us; to count takes 7
        return False
    slips = max(_FEW, len(body) // _SHARE)
    low = int(np.count_nonzero(np.frombuffer(body, np.uint8) < _LEAST))
    if low <= slips:
        return False
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _wide(body, codec(charset)):
        return decode(body, charset).count("\ufffd") > slips  # halves of pairs
    holes = low - body.count(0) + len(_NULS.findall(body))
    return holes > slips or not body.strip(b"\0 \t\r\n")


def _wide(body: bytes, declared: str = "") -> str:
    """The codec of UTF-16, recognised by the look of its markup, else "". A label is believed only with NUL bytes."""
    start = body[:256].lstrip(b"\0 \n\r\t") if body[:1] != b"\0" else body[:256]
    for sign, name in _UTF16_MARKUP:
        if start.startswith(sign):
            return name
    return declared if declared in _WIDE and body[:256].count(0) > len(body[:256]) // 4 else ""


def _declared(body: bytes) -> str:
    head = body[:_PRESCAN]
    for pattern in (_META_CHARSET, _XML_ENCODING):
        found = pattern.search(head)
        if found and (name := codec(found[1].decode("ascii", "replace"))):
            # A page whose <meta> can be read as bytes is not UTF-16: the standard takes it for UTF-8.
            return "utf-8" if name in _WIDE else name
    return ""


def _candidates(body: bytes, declared: list[str]) -> Iterator[str]:
    """The codecs to try, in order; one that meets an error is given up."""
    if not declared or "utf-8" in declared or set(declared) == {"cp1252"}:
        yield "utf-8"
    yield from (name for name in declared if name != "utf-8")


def _lenient(body: bytes, declared: list[str]) -> str:
    """The text if no codec fits without errors: the declared one if it reads most characters, else windows-1252."""
    for name in declared:
        text = body.decode(name, "replace")
        bad = text.count("\ufffd")
        if len(text) - len(text.encode("ascii", "ignore")) > 2 * bad:  # beyond ASCII more was read than lost
            return text
    return body.decode("cp1252", "replace")
