"""A team is a root and the agents below it: they share a board of tasks and find work there."""
