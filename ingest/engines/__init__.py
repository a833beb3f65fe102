"""The inference tier: pages of engines fetched, read, kept, and turned into figures.

[pure] are ``exposition``, ``names``, ``kinds``, ``layout``, ``mapping``, ``pages``, ``differences``, ``windows``,
``figures``, ``saturation``, ``around`` and ``otlp_points``: values in, values out. The rest fetches and stores. Knows
no page of ours and nothing of runs.
"""
