"""From model text to steps, and from English sentences to typed claims."""
