"""Open and score Theodolite's exports with the real packages: ``make conformance``.

`__main__` makes runs with a shipped model, exports them, and starts one module in each package's own environment
(``build/conformance/NAME``). Each prints figures as JSON. If a figure is wrong, the exit status is 1.
"""
