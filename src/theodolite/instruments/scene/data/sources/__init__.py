"""Readers of other people's scenes. Each yields `SourceView`s: a picture, its camera, and all boxes that are known in it."""
