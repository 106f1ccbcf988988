"""From model text to answers and scene graphs."""
