"""The frame of the pages for a browser: who looks, layout, forms, refusals and static files."""
