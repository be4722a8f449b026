"""The texts of the pages, in each language that they are in."""
