"""Pictures as SVG for the page: colours are the page's own, so that they follow its theme. Pure."""

from __future__ import annotations

from html import escape

from dashboard.reports.forms.pictures import Box, Dot, Line, Picture, Words


def as_svg(picture: Picture, css_class: str = "") -> str:
    shapes = "".join(_shape(shape) for shape in picture.shapes)
    return (
        f'<svg class="chart {css_class}" viewBox="0 0 {picture.width:g} {picture.height:g}" role="img" '
        f'aria-label="{escape(picture.says)}">{shapes}</svg>'
    )


def _shape(shape: Box | Dot | Line | Words) -> str:
    match shape:
        case Line():
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
            dashes = ' stroke-dasharray="2 3"' if shape.dashed else ""
            return (
                f'<polyline points="{points}" fill="none" style="stroke:var(--{shape.colour})" '
                f'stroke-width="{shape.width:g}"{dashes}/>'
            )
        case Box():
            return (
                f'<rect x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}" '
                f'style="fill:var(--{css_name(shape.colour)})"/>'
            )
        case Dot():
            edge = f";stroke:var(--{shape.outline})" if shape.outline else ""
            return (
                f'<circle cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}" '
                f'style="fill:var(--{shape.colour}){edge}"/>'
            )
        case Words():
            weight = ";font-weight:600" if shape.strong else ""
            return (
                f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" text-anchor="{shape.anchor}" '
                f'style="font-size:{shape.size:g}px;fill:var(--{shape.colour}){weight}">{escape(shape.text)}</text>'
            )


def css_name(colour: str) -> str:
    return colour.replace("_", "-")
