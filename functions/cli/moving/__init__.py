"""`uncaged import`: an agent of another program, as this one can keep it."""
