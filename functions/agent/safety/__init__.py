"""Pain and safety.

Facts record what failed, guides say what it means, the ladder decides when it is enough, and no
turn passes the breakers.
"""
