"""The schemas of tools as the endpoints of models take them."""
