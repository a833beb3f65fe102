"""Which font writes which characters, outside of browsers. Pure.

Latin letters, figures and signs are Bitstream Vera, which comes with ReportLab and is embedded. Chinese, Japanese and
Korean names are written with the Asian fonts that PDF viewers bring along (they are named in the file, not embedded:
a font with all those characters would be twenty times the size of all else). What no font here has becomes its base
letter, or ?.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import reportlab
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont

FOLDER = Path(reportlab.__file__).parent / "fonts"
PLAIN, STRONG, SIGNS = "Vera", "VeraBd", "ZapfDingbats"
FILES = {PLAIN: FOLDER / "Vera.ttf", STRONG: FOLDER / "VeraBd.ttf"}
CHINESE, JAPANESE, KOREAN = "STSong-Light", "HeiseiKakuGo-W5", "HYGothic-Medium"
NAMED = 8  # of signs that no font has
_SPACES = {"\u202f": "\u00a0", "\u2009": "\u00a0", "→": "–"}


@lru_cache(maxsize=1)
def register() -> frozenset[str]:
    """Make the fonts known to ReportLab, once a process; the characters that Vera has."""
    for name, path in FILES.items():
        pdfmetrics.registerFont(TTFont(name, str(path)))
    pdfmetrics.registerFontFamily(PLAIN, normal=PLAIN, bold=STRONG, italic=PLAIN, boldItalic=STRONG)
    for name in (CHINESE, JAPANESE, KOREAN):
        pdfmetrics.registerFont(UnicodeCIDFont(name))
    return frozenset(map(chr, pdfmetrics.getFont(PLAIN).face.charToGlyph))


def stretches(text: str, *, strong: bool = False) -> Iterator[tuple[str, str]]:
    """(font, text) of what one font writes at a time."""
    known = register()
    base = STRONG if strong else PLAIN
    japanese = any("\u3040" <= char <= "\u30ff" for char in text)
    fitted = [_fitted(char, known, base, japanese=japanese) for char in text]
    for font, together in groupby(fitted, key=lambda pair: pair[0]):
        yield font, "".join(char for _, char in together)


def written(text: str) -> str:
    """The text as Vera alone can write it."""
    return "".join(char if font in FILES else "?" for font, together in stretches(text) for char in together)


def remarks(texts: Iterable[str]) -> list[str]:
    """What a reader must know of how these are written, so that no sign is lost or a box without a word."""
    known, lost, borrowed = register(), set[str](), False
    for text in set(texts):
        for char in text:
            font, fitted = _fitted(char, known, PLAIN, japanese=False)
            borrowed = borrowed or font in (CHINESE, JAPANESE, KOREAN)
            if fitted == "?" and char != "?":
                lost.add(char)
    told = []
    if lost:
        points = sorted(f"U+{ord(char):04X}" for char in lost)
        more = f" and {len(points) - NAMED} more" if len(points) > NAMED else ""
        told.append(f"No font here has {', '.join(points[:NAMED])}{more}: a ? stands for each; the page shows them.")
    if borrowed:
        told.append("Some names are written with your viewer's own fonts: where it shows boxes, the page has them.")
    return told


def _fitted(char: str, known: frozenset[str], base: str, *, japanese: bool) -> tuple[str, str]:
    char = _SPACES.get(char, char)
    if char in known:
        return base, char
    if char in "▲▼":
        return SIGNS, char
    code = ord(char)
    if 0x1100 <= code <= 0x11FF or 0x3130 <= code <= 0x318F or 0xAC00 <= code <= 0xD7A3:
        return KOREAN, char
    if 0x3040 <= code <= 0x30FF:
        return JAPANESE, char
    if 0x2E80 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0xFF00 <= code <= 0xFFEF:
        return (JAPANESE if japanese else CHINESE), char
    if 0x0370 <= code <= 0x04FF:  # Greek and Cyrillic, which the Chinese font has
        return CHINESE, char
    letter = unicodedata.normalize("NFD", char)[0]
    return base, letter if letter in known else "?"
