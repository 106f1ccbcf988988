"""Questions about pictures: read, write, make."""
