"""The instruments. Each is a folder with the same parts.

data/          make and read data sets
questions.py   prompts, and the plan of a run
measure.py     the only part that calls a model
formulas/      the published numbers
experiments/   one module per experiment of the paper
score.py       item scores and tables
figures        figures
instrument.py  implementation of `Instrument`

The diagnosis, the report and the command line use instruments only through `theodolite.instruments.instrument.Instrument`.
"""
