"""The declarations of a capability: its manifest, schema, permissions and package."""
