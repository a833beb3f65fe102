"""The weekly report: what changed, where, since when and why, in words that rest on figures.

``core`` is plain: values in, values out. ``reading`` asks the store, ``forms`` shows the same report as page, e-mail,
PDF and CSV, ``storing`` and ``sending`` keep and send it. Nothing here computes a quantile by itself: all come from the
bins of ``ingest.rollups``.
"""
