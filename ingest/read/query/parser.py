"""Text → terms.

    query   = { term | "AND" }
    term    = [ "-" | "NOT" ] ( field sign values | text )
    sign    = ":" | "=" | "!=" | ">" | ">=" | "<" | "<="
    values  = value { "," value } | "(" value { ( "," | "OR" ) value } ")"
    value   = "*" | quoted | bare | amount ".." amount
    text    = quoted | bare

All terms must hold. A backslash in quotes takes the next character as it is.
"""

from __future__ import annotations

import difflib
from functools import lru_cache

from ingest.read.query.amounts import expected, read_amount
from ingest.read.query.fields import ALIASES, FIELDS, Field, Kind, find_field
from ingest.read.query.terms import Amount, BadQuery, Known, Pattern, Query, Term, Wanted

SIGNS = ("!=", ">=", "<=", ":", "=", ">", "<")
LONGEST, TERMS_MOST, VALUES_MOST = 4_000, 60, 100
_FIELD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/")


@lru_cache(maxsize=512)
def parse(text: str) -> Query:
    """Raises BadQuery, which tells the character."""
    if len(text) > LONGEST:
        raise BadQuery(f"longer than {LONGEST} characters", text, LONGEST)
    reader = _Reader(text)
    terms: list[Term] = []
    while reader.skip_blanks():
        if reader.word("AND"):
            continue
        if reader.peek_word("OR"):
            reader.fail("OR stands between values of one field, as in service:checkout,support")
        if len(terms) == TERMS_MOST:
            reader.fail(f"more than {TERMS_MOST} conditions")
        terms.append(reader.term())
    return Query(tuple(terms))


class _Reader:
    """A place in the text that moves on."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def fail(self, message: str, at: int | None = None) -> None:
        raise BadQuery(message, self.text, self.at if at is None else at)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip_blanks(self) -> bool:
        """Whether anything is left after blanks."""
        while self.peek().isspace():
            self.at += 1
        return self.at < len(self.text)

    def peek_word(self, word: str) -> bool:
        after = self.text[self.at + len(word) : self.at + len(word) + 1]
        return self.text.startswith(word, self.at) and (not after or after.isspace())

    def word(self, word: str) -> bool:
        if not self.peek_word(word):
            return False
        self.at += len(word)
        return True

    def term(self) -> Term:
        start = self.at
        negated = self.word("NOT")
        if negated and not self.skip_blanks():
            self.fail("NOT: expected what must not hold after it", start)
        if self.peek() == "-":
            negated = not negated
            self.at += 1
            if not self.peek() or self.peek().isspace():
                self.fail("expected what must not hold right after the minus", start)
        field, sign = self.head()
        if field is None:
            wanted: tuple[Wanted, ...] = (Pattern(self.text_value(), exact=True),)
        else:
            wanted = self.values(field, sign)
        if self.at < len(self.text) and not self.peek().isspace():
            self.fail("expected a blank before the next condition")
        return Term(
            field=field.name if field else "", sign=sign, wanted=wanted, negated=negated != (sign == "!="),
            text=self.text[start : self.at], start=start, end=self.at,
        )  # fmt: skip

    def head(self) -> tuple[Field | None, str]:
        """The field and its sign, if the word that begins here is one."""
        end = self.at
        while self.text[end : end + 1] and self.text[end] in _FIELD:
            end += 1
        sign = next((sign for sign in SIGNS if self.text.startswith(sign, end)), "") if end > self.at else ""
        if not sign:
            return None, ""
        name = self.text[self.at : end]
        field = find_field(name)
        if field is None:
            self.fail(f"there is no field {name}{_like(name)}; to find it as text put it in quotes")
        assert field
        if field.kind not in (Kind.AMOUNT, Kind.ATTRIBUTE) and sign not in (":", "=", "!="):
            self.fail(f"{name} is no amount: expected {name}: and a value", end)
        self.at = end + len(sign)
        return field, sign

    def values(self, field: Field, sign: str) -> tuple[Wanted, ...]:
        grouped = self.peek() == "("
        opened = self.at
        self.at += grouped
        found: list[Wanted] = []
        while True:
            if grouped and not self.skip_blanks():
                self.fail("this ( is not closed", opened)
            found.append(self.value(field, sign, ",)" if grouped else ","))
            if len(found) > VALUES_MOST:
                self.fail(f"more than {VALUES_MOST} values")
            if grouped:
                self.skip_blanks()
                if self.peek() == ")":
                    self.at += 1
                    return tuple(found)
                if not (self.word("OR") or self.comma()):
                    self.fail("expected a comma, OR, or )" if self.peek() else "this ( is not closed",
                              None if self.peek() else opened)  # fmt: skip
            elif not self.comma():
                return tuple(found)
            elif sign not in (":", "=", "!="):
                self.fail(f"{field.name}{sign} takes one amount", self.at - 1)

    def comma(self) -> bool:
        if self.peek() != ",":
            return False
        self.at += 1
        return True

    def value(self, field: Field, sign: str, ends: str) -> Wanted:
        start = self.at
        quoted = self.peek() == '"'
        told = self.quoted() if quoted else self.bare(ends)
        if not told and not quoted:
            hint = "a value" if field.kind is not Kind.AMOUNT else expected(field.units)
            self.fail(f"{field.name}{sign} expected {hint} after it", start)
        if told == "*" and not quoted and sign in (":", "=", "!="):
            return Known()
        if field.kind is Kind.AMOUNT or (field.kind is Kind.ATTRIBUTE and not quoted and _compares(field, sign, told)):
            return self.amount(field, sign, told, start)
        if field.kind is Kind.CHOICE:
            return self.choice(field, told, start)
        if field.kind is Kind.ID and not _is_hex(told):
            self.fail(f"{field.name}: expected hexadecimal digits", start)
        if field.kind is Kind.ERROR:
            # A word that names a kind means the kind; quoted it is text in the error.
            return Pattern(told, exact=not quoted and told.lower() in field.choices)
        return Pattern(told, exact=quoted or "*" not in told)

    def choice(self, field: Field, told: str, start: int) -> Pattern:
        name = told.lower().replace("-", "_").removeprefix("stage.")
        name = {"failed": "error", "flying": "open"}.get(name, name)
        if name not in field.choices:
            self.fail(f"{field.name}: expected one of {', '.join(field.choices)}", start)
        return Pattern(name, exact=True)

    def amount(self, field: Field, sign: str, told: str, start: int) -> Amount:
        low_told, between, high_told = told.partition("..")
        bounds = []
        for part, at in ((low_told, start), (high_told, start + len(low_told) + 2)):
            found = read_amount(part, field.units) if part else None
            if (part and found is None) or (not between and not part and part is low_told):
                self.fail(f"{field.name}{sign} expected {expected(field.units)}", at)
            bounds.append(found)
        low, high = bounds
        if not between:
            assert low
            unit, amount = low
            over, under = sign in (">", ">="), sign in ("<", "<=")
            return Amount(unit, None if under else amount, None if over else amount, sign != ">", sign != "<")
        if sign not in (":", "=", "!="):
            self.fail(f"a range stands after a colon: {field.name}:{told}", start)
        known = [bound for bound in bounds if bound]
        if not known:
            self.fail("expected an amount on a side of ..", start)
        if len({unit for unit, _ in known}) > 1:
            self.fail("expected the same kind of amount on both sides of ..", start)
        return Amount(known[0][0], low[1] if low else None, high[1] if high else None)

    def text_value(self) -> str:
        if self.peek() == '"':
            start = self.at
            told = self.quoted()
            if not told:
                self.fail("expected text between the quotes", start)
            return told
        return self.bare("")

    def bare(self, ends: str) -> str:
        start = self.at
        while (here := self.peek()) and not here.isspace() and here not in ends:
            if here == '"':
                self.fail("a quote inside a word: put the whole value in quotes")
            self.at += 1
        return self.text[start : self.at]

    def quoted(self) -> str:
        start = self.at
        self.at += 1
        told: list[str] = []
        while (here := self.peek()) and here != '"':
            if here == "\\" and self.at + 1 < len(self.text):
                self.at += 1
                here = self.peek()
            told.append(here)
            self.at += 1
        if not here:
            self.fail("this quote is not closed", start)
        self.at += 1
        return "".join(told)


def _compares(field: Field, sign: str, told: str) -> bool:
    """Whether a value of an attribute, of which nobody knows what it holds, is an amount: compared, or a range."""
    low, between, high = told.partition("..")
    is_range = between and (low or high) and all(read_amount(part, field.units) for part in (low, high) if part)
    return sign not in (":", "=", "!=") or bool(is_range)


def _is_hex(told: str) -> bool:
    return bool(told) and all(digit in "0123456789abcdefABCDEF" for digit in told)


def _like(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), [*FIELDS, *ALIASES], 1, 0.6)
    return f" (is it {near[0]}?)" if near else ""


def writable(name: str) -> bool:
    """Whether a query can hold an attribute's name."""
    return bool(name) and _FIELD.issuperset(name)


def quote(value: str) -> str:
    """A text as a value of a term that means exactly it."""
    plain = value and all(not here.isspace() and here not in ',"()*' for here in value)
    return value if plain else in_quotes(value)


def in_quotes(text: str) -> str:
    """A text as a condition that finds it, whatever it is."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
