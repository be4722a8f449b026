"""The agent's own services, offered as capabilities of kind `host`: they have to be found like any
other, and run here.
"""
