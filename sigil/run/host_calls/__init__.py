"""Host calls: what a capability may ask of the server, each behind what it was granted."""
