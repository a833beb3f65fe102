"""The inference tier: pages of engines fetched, read, kept, and turned into figures.

[pure] are ``exposition``, ``names``, ``kinds``, ``layout``, ``pages``, ``differences``, ``windows``, ``saturation`` and
``addresses``: values in, values out. The rest fetches and stores. Knows no page of ours and nothing of runs.
"""
