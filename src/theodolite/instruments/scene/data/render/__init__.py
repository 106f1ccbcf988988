"""A small software renderer: convex solids and quadrics, ray-cast part by part into a depth buffer. Needs only numpy."""
