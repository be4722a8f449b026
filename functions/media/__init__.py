"""Files that people send are opened here: pictures, PDF, office files, web pages, drawings.

`FileReader` is all that others use of this folder. What parses a file runs in a child process of
its own, which has no files, no network and no credentials; nothing outside `child` imports a
library that does.
"""
