"""Pain and safety.

Facts record what failed, guides say what it means, the ladder says when it is enough, and breakers
are what no turn may pass.
"""
