"""Trace: is each step of the reasoning supported by the frames, and does that predict robustness?

A model reasons about an episode step by step. Claims are extracted from its steps, a verifier judges each claim
against the frames, and the metrics are computed from the verdicts.
"""
