"""All instruments on one model: where it stands between the twins, what it shows, and what is open."""
