"""Manual pages and completions for shells, made from what the commands accept."""
