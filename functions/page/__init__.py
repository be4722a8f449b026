"""The page: what a person sees and does in a browser."""
