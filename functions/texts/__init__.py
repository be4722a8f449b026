"""The agent's own texts for the people of a chat: one file a language, named by its code.

`en` has every text. Another language is a subclass of `Texts` with the name `TEXTS` for its
instance; what it does not translate stays English. A new file is found by itself.
"""
