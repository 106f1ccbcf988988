"""The fuzz job: ``make fuzz`` runs all of it, ``python -m fuzz parsers --count 1000`` a part of it.

A part is a module with a function ``run(seed, count, seconds)`` that returns a `fuzz.tally.Tally`: ``parsers`` (model text),
``files`` (data sets, logs and records, also as pipes and devices), ``page`` (the HTML page), ``bombs`` (little that unpacks to
much), ``models`` (model folders) and ``flips`` (bits of runs and their pictures). Every input follows from the part's name, the seed and
its number, so that every fault can be reproduced.
"""
