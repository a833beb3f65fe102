"""Pictures as PNG, for mail: drawn at four times the size and made smaller, so that edges are smooth. Pure."""

from __future__ import annotations

import io
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from dashboard.reports.forms.colours import colour
from dashboard.reports.forms.fonts import FILES, PLAIN, STRONG, written
from dashboard.reports.forms.pictures import Box, Dot, Line, Picture, Words

SCALE, FINER = 2, 2  # pixels of the image for one of the picture, and of the drawing for one of the image
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def as_png(picture: Picture) -> bytes:
    """On the page's white, twice as large as it is to be shown."""
    k = SCALE * FINER
    image = Image.new("RGB", (round(picture.width * k), round(picture.height * k)), colour("surface"))
    brush = ImageDraw.Draw(image)
    for shape in picture.shapes:
        _draw(brush, shape, k)
    small = image.resize((round(picture.width * SCALE), round(picture.height * SCALE)), Image.Resampling.LANCZOS)
    body = io.BytesIO()
    small.save(body, "PNG", optimize=True)
    return body.getvalue()


def _draw(brush: ImageDraw.ImageDraw, shape: Box | Dot | Line | Words, k: int) -> None:
    match shape:
        case Line():
            points = [(x * k, y * k) for x, y in shape.points]
            if shape.dashed:
                _dashes(brush, points, colour(shape.colour), round(shape.width * k), k)
            else:
                brush.line(points, fill=colour(shape.colour), width=max(1, round(shape.width * k)), joint="curve")
        case Box():
            box = (shape.x * k, shape.y * k, (shape.x + shape.width) * k, (shape.y + shape.height) * k)
            brush.rectangle(box, fill=colour(shape.colour))
        case Dot():
            x, y, r = shape.x * k, shape.y * k, shape.radius * k
            edge = colour(shape.outline) if shape.outline else None
            brush.ellipse((x - r, y - r, x + r, y + r), fill=colour(shape.colour), outline=edge, width=k)
        case Words():
            font = _font(STRONG if shape.strong else PLAIN, round(shape.size * k))
            at = shape.x * k, shape.y * k
            brush.text(at, written(shape.text), font=font, fill=colour(shape.colour), anchor=ANCHORS[shape.anchor])


def _dashes(brush: ImageDraw.ImageDraw, points: list[tuple[float, float]], fill: str, width: int, k: int) -> None:
    """Upright lines only, which is all that is dashed."""
    (x, top), (_, bottom) = points
    y = top
    while y < bottom:
        brush.line([(x, y), (x, min(y + 2 * k, bottom))], fill=fill, width=width)
        y += 5 * k


@lru_cache(maxsize=32)
def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FILES[name]), size)
