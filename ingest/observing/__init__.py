"""What this instance knows of itself: counts in every process, their sums, the last refused requests, log lines.

Knows no page and no stage. Counting is done once a request, commit or pass, never once a span.
"""
