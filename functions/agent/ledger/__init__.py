"""The ledger: what the agent's work cost and what was allowed, append-only and hash-chained."""
