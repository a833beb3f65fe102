"""Receives OTLP and answers it. Knows bytes, sizes and status codes; knows nothing of stages or pages."""
