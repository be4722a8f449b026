"""The agent's own services, which it offers as capabilities of kind `host`.

The model has to find them like any other capability; they run here.
"""
