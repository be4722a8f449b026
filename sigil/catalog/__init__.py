"""The capabilities of a store: names, versions, visibility, lifetimes, usage and the audit."""
