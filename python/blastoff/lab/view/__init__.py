"""How results are shown: on a terminal, as files, as a page."""
