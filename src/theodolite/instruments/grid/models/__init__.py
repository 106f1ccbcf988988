"""Models of the grid whose reasoning is known: symbolic ones, and a pair of trained networks."""
