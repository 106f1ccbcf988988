"""Runs, diagnoses and data sets in the formats of other tools.

`samples` reads items in one form; every other module writes one format. `shares` and the reader of answers are all that an
exported task needs, so that it can carry a copy of them (`reader_copy`).
"""
