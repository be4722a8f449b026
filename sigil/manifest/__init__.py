"""What a capability declares: its manifest, schema, permissions and package."""
