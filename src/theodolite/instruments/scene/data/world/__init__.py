"""Made worlds: rooms and streets with objects of realistic size. Needs only numpy and SciPy."""
