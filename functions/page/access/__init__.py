"""Who looks at a page, what of each chat they may see, and how they sign in."""
