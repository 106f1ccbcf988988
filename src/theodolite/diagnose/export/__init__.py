"""Runs, diagnoses and data sets in the formats of other tools.

`samples` reads items in a common form; every other module writes one format. An exported task needs only `shares` and
the reader of answers, so it can contain a copy of them (`lmms_eval.write_copy`).
"""
