"""Makes capabilities of the operations that an OpenAPI document describes."""
