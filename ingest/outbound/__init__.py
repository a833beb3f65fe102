"""Requests that we make ourselves, to addresses that people give: engines' pages, and whatever else is told by HTTP.

Whoever may give an address must not reach through us what he should not. ``addresses`` is [pure].
"""
