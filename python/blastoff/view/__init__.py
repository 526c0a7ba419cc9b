"""What the pages of several commands share: their style and the way figures are drawn."""
