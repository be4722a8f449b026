"""Metrics and traces: what programs measure of turns, made from the row of each run.

Nothing here is imported unless `UNCAGED_METRICS` or `UNCAGED_OTEL_URL` is set.
"""
