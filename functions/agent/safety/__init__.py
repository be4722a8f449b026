"""Pain: what failed (facts), what it means (guides), when it is enough (the ladder), and what no
turn may pass (breakers).
"""
