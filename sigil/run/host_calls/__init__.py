"""What a capability may ask of the server: the web, a store of its own, other capabilities; each
behind its grants.
"""
