"""Episodes: make, import, read, write, audit."""
