"""Control experiments of the compass, one module each."""
