"""A registry behind HTTP, used from afar."""
