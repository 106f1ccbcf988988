"""A small CLIP of the embedded worlds: pictures with all that is true of them, and how it is trained."""
