"""The local viewer behind ``theodolite view``."""
