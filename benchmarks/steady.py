"""Row 2: the highest rate of those tried at which the backlog does not grow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import linear_regression

from benchmarks.loads import SPANS_A_TRACE, Loads, Sent

SECONDS = 15  # for each rate
SETTLE_S = 4.0  # what the backlog does at first, while caches and processes get into step, is not looked at
FULL_SPEED_SHARE = 0.95  # of what full speed came to
STEP_UP, STEPS_DOWN = 1.15, (0.8, 0.6)
GROWTH_MOST = 0.03  # of what comes in: a slope taken over seconds has this much noise
REACHED_LEAST = 0.97  # of the rate asked for; else it was not sustained, whatever the backlog did


@dataclass(frozen=True)
class Tried:
    """One rate, and what came of it."""

    rate: int
    reached_per_s: float  # spans acknowledged a second
    growth: float  # of the backlog, as a share of the traces that came in

    @property
    def is_steady(self) -> bool:
        return self.growth <= GROWTH_MOST and self.reached_per_s >= REACHED_LEAST * self.rate

    def __str__(self) -> str:
        told = "steady" if self.is_steady else "not steady"
        return f"{self.rate:,} {told} ({self.reached_per_s:,.0f} reached, backlog {self.growth:+.1%} of what came)"


def find_steady(loads: Loads, full_speed_per_s: float) -> list[Tried]:
    """Try two or three rates about what full speed came to, each for 15 s."""

    def attempt(rate: int) -> Tried:
        sent = loads.send(f"steady-{rate}", rate * SECONDS, rate=rate)
        return Tried(rate, float(sent.told["acked_spans_per_s"]), growth(sent))

    return search(attempt, full_speed_per_s)


def search(attempt: Callable[[int], Tried], full_speed_per_s: float) -> list[Tried]:
    """First a little under full speed; a step up if that was steady, else down until a rate is."""
    tried = [attempt(round(full_speed_per_s * FULL_SPEED_SHARE))]
    if tried[0].is_steady:
        return [*tried, attempt(round(full_speed_per_s * FULL_SPEED_SHARE * STEP_UP))]
    for share in STEPS_DOWN:
        tried.append(attempt(round(full_speed_per_s * share)))
        if tried[-1].is_steady:
            break
    return tried


def highest_steady(tried: Sequence[Tried]) -> float | None:
    """Spans a second; None when no rate was steady."""
    return max((one.reached_per_s for one in tried if one.is_steady), default=None)


def growth(sent: Sent) -> float:
    """How fast the backlog grew while the load came, as a share of the traces that came in."""
    # The generator encodes before it sends: what it sent ended with its process, nearly.
    end_s = sent.backlog[-1][0] if sent.backlog else 0.0
    begin_s = end_s - float(sent.told["wall_s"]) + SETTLE_S
    looks = [(at_s, waiting) for at_s, waiting in sent.backlog if at_s >= begin_s]
    if len(looks) < 3:
        return 0.0
    slope = linear_regression(*zip(*looks, strict=True)).slope
    return slope * SPANS_A_TRACE / float(sent.told["acked_spans_per_s"])
