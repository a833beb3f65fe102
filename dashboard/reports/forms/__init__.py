"""One report in five forms. ``sheet`` writes every figure once, as text; page, e-mail, plain text, PDF and CSV take
it from there, so that they agree to the digit. Pictures are drawn once too (``pictures``), as shapes that become
SVG, PNG or PDF."""
