"""Where pairs come from: one file each."""
