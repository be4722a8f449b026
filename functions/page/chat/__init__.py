"""The pages of chats. What a process knows of chats for all pages is beside this folder, in
`chat_cache` and `live`, which `frame` has.
"""
