"""Numbers in sentences: each is written by one of these, which notes what it is and where the API tells it. Pure."""

from __future__ import annotations

from dashboard import figures
from dashboard.reports.core.paths import Place, report_path
from dashboard.reports.core.values import Rest, Sentence
from dashboard.reports.core.weeks import MONTHS, Week

DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Writer:
    """Gathers the numbers of one sentence as they are written into it."""

    def __init__(self, before: Place, after: Place) -> None:
        self.before, self.after = before, after
        self.rests: list[Rest] = []

    def sentence(self, text: str, tone: str = "") -> Sentence:
        return Sentence(text=text[:1].upper() + text[1:], rests=self.rests, tone=tone)

    def time(self, place: Place, figure: str, ns: float | None) -> str:
        whole = None if ns is None else round(ns)
        return self._note(str(figures.duration(whole)), "–" if whole is None else whole, place.path(figure))

    def times(self, figure: str, was: float | None, now: float | None) -> tuple[str, str]:
        return self.time(self.before, figure, was), self.time(self.after, figure, now)

    def time_of(self, ns: float, of: str) -> str:
        """Told by something else than the summary."""
        return self._note(str(figures.duration(round(ns))), ns, of)

    def of_a_thousand(self, value: float, of: str, per: str) -> str:
        return self._note(f"{value * 1000:.1f}", value, of, per)

    def mean_time(self, place: Place, figure: str, count: str, ns: float) -> str:
        """A sum over a count: of a stage, over all runs."""
        return self._note(str(figures.duration(round(ns))), ns, place.path(figure), place.path(count))

    def share(self, value: float, of: str, per: str | None = None) -> str:
        return self._note(str(figures.percent(value)), value, of, per)

    def ratio(self, value: float, of: str, per: str) -> str:
        shown = f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
        return self._note(shown, value, of, per)

    def tokens(self, value: float, of: str, per: str) -> str:
        return self._note(figures.grouped(round(value)), value, of, per)

    def count(self, place: Place, figure: str, number: int, word: str) -> str:
        shown = str(figures.count(number))
        self._note(shown, number, place.path(figure))
        return figures.plural(number, word)

    def part(self, week: Week, where: str, ns: int) -> str:
        """A signed amount that the report itself has worked out."""
        shown = f"{'+' if ns > 0 else ''}{figures.duration(ns)}"
        return self._note(shown, ns, report_path(str(week), where))

    def day(self, week: Week, at: int) -> str:
        date = week.days[at]
        shown = f"{DAY_NAMES[at]}, {date.day} {MONTHS[date.month - 1]}"
        return self._note(shown, date.isoformat(), report_path(str(week), "break_day"))

    def version(self, week: Week, number: int, version: str) -> str:
        return self._note(version, version, report_path(str(week), f"deploys/{number}/version"))

    def _note(self, shown: str, value: float | str, of: str, per: str | None = None) -> str:
        self.rests.append(Rest(shown=shown, value=value, of=of, per=per))
        return shown
