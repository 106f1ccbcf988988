"""The drawn worlds: relations, rooms and streets, clips, houses, missions.

Pixels are a contract with shipped weights: the bundled models were trained on these pictures, so a change that moves a
single pixel needs new weights, certificates and calibration.
"""
