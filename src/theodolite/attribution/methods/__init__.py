"""The relevance methods, one file each. To add one, add a file and a line in the built-in table."""
