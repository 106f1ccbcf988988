"""The instruments, each a folder with the same rooms.

data/          make and read data sets
questions.py   prompts, and the plan of a run
measure.py     the only part that calls a model
formulas/      one module per published number, named after it
experiments/   one module per experiment of the paper
score.py       item scores and tables
figures        what is drawn
instrument.py  all of it behind one type

`theodolite.instruments.instrument` holds that type, `Instrument`: what the diagnosis, the report and the command line
know of them.
"""
