"""A made world: rooms and streets full of things in their real sizes. Needs numpy and SciPy alone."""
