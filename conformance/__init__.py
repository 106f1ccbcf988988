"""What Theodolite exports, opened and scored by the real packages: ``make conformance``.

`__main__` makes runs with a shipped model, exports them, and starts one module in each package's own environment
(``build/conformance/NAME``). Each prints figures as JSON; a figure that is not as it must be ends with exit status 1.
"""
