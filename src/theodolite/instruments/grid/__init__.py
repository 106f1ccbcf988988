"""Grid: do explainers tell spatial reasoning from a shortcut, where the truth is known (GridVQA-X)?

>>> from theodolite.instruments.grid.data.generate import generate
>>> batch = generate(["A-F0-D1", "M-F1-D3"], 100, mode="pure", density="sparse", seed=0)
>>> batch.cells.shape, batch.words.shape
((200, 25), (200, 28))
"""
