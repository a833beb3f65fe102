"""Telemetry becomes numbers: receive, store, decompose, announce. Knows no page and no agent."""
