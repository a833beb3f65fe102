"""What a page shows, worked out from the read layer's values. Plain Python: no request, no database, no clock."""
