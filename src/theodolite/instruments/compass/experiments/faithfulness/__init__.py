"""Does hiding what the compass points at change the answer? COS, deletion curves, MDF, DFS."""
