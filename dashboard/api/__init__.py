"""The JSON API under /api/v1/: thin views over the read layer, in the contract's field names."""
