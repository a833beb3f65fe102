"""Pictures of a report as plain shapes, in pixels from the left top. What paints them decides about fonts and
formats. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dashboard.figures import THIN
from dashboard.reports.forms.sheet import Sheet
from dashboard.reports.forms.shift import Shift

TICKS = 4
NICE = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    points: Sequence[tuple[float, float]]
    colour: str
    width: float = 1
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    colour: str
    outline: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    x: float
    y: float
    radius: float
    colour: str
    outline: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """``anchor`` is start, middle or end; ``y`` is the base line."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: str = "start"
    strong: bool = False


Shape = Line | Box | Dot | Words


@dataclass(slots=True, kw_only=True)
class Picture:
    """``says`` tells in words what it shows."""

    width: float
    height: float
    says: str
    shapes: list[Shape] = field(default_factory=list)


def days_picture(sheet: Sheet, width: float = 998) -> Picture:
    """p95 by day: this week in ink, the one before in grey; the break as a dotted line."""
    height, left, top = 168.0, 40.0, 12.0
    narrow = width < 520
    right, bottom = width - (12 if narrow else 124), height - 22
    picture = Picture(width=width, height=height, says=sheet.days_say)
    values = [ns for row in sheet.days for ns in (row.before_ns, row.after_ns) if ns is not None]
    top_ns, step_ns = _scale(max(values, default=1))
    unit_ns, unit = (10**9, "s") if top_ns >= 10**9 else (10**6, "ms")

    def x(at: int) -> float:
        return left + 24 + at * (right - left - 48) / 6

    def y(ns: float) -> float:
        return bottom - ns / top_ns * (bottom - top)

    for n in range(round(top_ns / step_ns) + 1):
        level = n * step_ns
        picture.shapes.append(Line(points=[(left, y(level)), (right, y(level))], colour="grid" if n else "line-strong"))
        label = f"{level / unit_ns:g}" + ("" if n else f"{THIN}{unit}")
        picture.shapes.append(Words(x=left - 6, y=y(level) + 4, text=label, size=11, colour="text-3", anchor="end"))
    for at, row in enumerate(sheet.days):
        label = row.label[:2] if narrow else row.label
        picture.shapes.append(Words(x=x(at), y=height - 6, text=label, size=11, colour="text-3", anchor="middle"))
        if row.is_break and at and not any(int(when) == at for when, _ in sheet.deploy_marks):
            line = (x(at) + x(at - 1)) / 2
            picture.shapes.append(Line(points=[(line, top), (line, bottom)], colour="text-2", dashed=True))
            picture.shapes.append(
                Words(x=line - 6, y=bottom - 6, text="since then", size=11, colour="text-2", anchor="end")
            )
    for number, (when, text) in enumerate(sheet.deploy_marks):
        line = min(max(x(0) + (when - 0.5) * (right - left - 48) / 6, left), right)
        picture.shapes.append(Line(points=[(line, top), (line, bottom)], colour="text-2", dashed=True))
        if not narrow:
            label_y = bottom - 6 - 14 * (number % 2)
            end = "end" if line > (left + right) / 2 else "start"
            shift = -5 if end == "end" else 5
            picture.shapes.append(Words(x=line + shift, y=label_y, text=text, size=11, colour="text-2", anchor=end))
    for is_now in (False, True):
        known = [
            (at, ns, row.after if is_now else row.before)
            for at, row in enumerate(sheet.days)
            if (ns := row.after_ns if is_now else row.before_ns) is not None
        ]
        colour = "text" if is_now else "control-line"
        _course(picture, [(at, x(at), y(ns)) for at, ns, _ in known], colour, 2 if is_now else 1.5)
        for at, ns, shown in known:
            dot = Dot(x=x(at), y=y(ns), radius=3 if is_now else 2.5, colour=colour if is_now else "surface",
                      outline="" if is_now else "control-line")  # fmt: skip
            picture.shapes.append(dot)
            if is_now and at == sheet.top_day:
                picture.shapes.append(
                    Words(x=x(at), y=y(ns) - 9, text=shown, size=12, colour="text", anchor="middle", strong=True)
                )
    if not narrow:
        _labels(picture, sheet, x(6) + 14, y)
    return picture


def _course(picture: Picture, points: Sequence[tuple[int, float, float]], colour: str, width: float) -> None:
    """Lines between neighbouring days only: what is between others nobody knows."""
    for (at, x0, y0), (after, x1, y1) in itertools.pairwise(points):
        if after == at + 1:
            picture.shapes.append(Line(points=[(x0, y0), (x1, y1)], colour=colour, width=width))


def _labels(picture: Picture, sheet: Sheet, x: float, y: Callable[[float], float]) -> None:
    last = sheet.days[-1]
    lines = (
        (last.after_ns, last.after, sheet.week_name, "text", True),
        (last.before_ns, last.before, sheet.last_name, "text-2", False),
    )
    told = [(y(ns), f"{text} {name}", colour, strong) for ns, text, name, colour, strong in lines if ns is not None]
    if len(told) == 2 and abs(told[0][0] - told[1][0]) < 15:
        middle = (told[0][0] + told[1][0]) / 2
        up = -1 if told[0][0] <= told[1][0] else 1
        told = [(middle + up * 8, *told[0][1:]), (middle - up * 8, *told[1][1:])]
    for level, text, colour, strong in told:
        picture.shapes.append(Words(x=x, y=level + 4, text=text, size=12, colour=colour, strong=strong))


def shift_picture(shift: Shift, width: float = 640) -> Picture:
    """Both weeks' mean run as bars, and under them how each stage moved."""
    row, left, right = 22.0, 132.0, width - 208
    picture = Picture(width=width, height=row * (len(shift.rows) + 5) - 4, says=shift.says)
    longest = max(shift.before_ns, shift.after_ns, 1)
    for at, (name, total, parts) in enumerate(shift.bars):
        y = at * row
        picture.shapes.append(Words(x=0, y=y + 15, text=name, size=12, colour="text"))
        x = left
        for stage, ns in parts:
            w = ns / longest * (width - left - 76)
            picture.shapes.append(Box(x=x, y=y + 4, width=max(w - 1, 0.5), height=13, colour=stage))
            x += w
        picture.shapes.append(Words(x=width, y=y + 15, text=total, size=12, colour="text", anchor="end", strong=True))
    y = 2 * row + 10
    heads = ((0, "Stage", "start"), (left, "faster – slower", "start"), (width - 136, shift.last_name, "end"),
             (width - 68, shift.week_name, "end"), (width, "Change", "end"))  # fmt: skip
    picture.shapes += [Words(x=x, y=y + 15, text=t, size=11, colour="text-3", anchor=a) for x, t, a in heads]
    for line in (*shift.rows, shift.total):
        y += row
        strong = line is shift.total
        if strong:
            picture.shapes.append(Line(points=[(0, y), (width, y)], colour="line-strong"))
        else:
            picture.shapes.append(Box(x=0, y=y + 7, width=8, height=8, colour=line.stage))
        picture.shapes.append(
            Words(x=14 if not strong else 0, y=y + 15, text=line.label, size=12, colour="text", strong=strong)
        )
        zero = left + shift.zero * (right - left)
        start, length = left + line.left * (right - left), line.width * (right - left)
        picture.shapes.append(Line(points=[(zero, y), (zero, y + row)], colour="line-strong"))
        picture.shapes.append(
            Box(x=start, y=y + 5, width=max(length, 1), height=12, colour="text" if strong else line.stage)
        )
        for x, text in ((width - 136, line.before), (width - 68, line.after), (width, line.change)):
            picture.shapes.append(Words(x=x, y=y + 15, text=text, size=12, colour="text", anchor="end", strong=strong))
    return picture


def _scale(most: float) -> tuple[float, float]:
    """The end of the axis and its step: at most five lines, on round numbers."""
    rough = most / TICKS
    size = 10 ** (len(str(int(rough))) - 1)
    step = next(size * nice for nice in NICE if size * nice >= rough)
    return -(-most // step) * step, step
