"""How a prediction is shown: on a terminal or as a page."""
