"""Who may do what: tokens, rates, grants and secrets."""
