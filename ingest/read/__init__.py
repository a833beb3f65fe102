"""Questions that pages and the API ask. Each takes a Scope first and returns plain values."""
