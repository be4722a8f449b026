"""Who may talk: the people that were let in, the codes that let them in, and what each may use in a
day.
"""
