"""Code that the pages of several commands share: their style, and drawing figures."""
