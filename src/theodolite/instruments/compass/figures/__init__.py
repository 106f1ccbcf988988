"""Figures of the compass: compasses on pictures, plots of scores, and sheets of edited pictures."""
