"""Read, write and make questions about pictures."""
