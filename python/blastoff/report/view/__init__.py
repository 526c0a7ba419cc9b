"""How a job is shown: on a terminal or as a page."""
