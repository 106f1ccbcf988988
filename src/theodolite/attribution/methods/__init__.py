"""The relevance methods, one file each. A new one is one file and one line in the built-in table."""
