"""Replies on their way: divided for a platform, or kept for whoever fetches them."""
