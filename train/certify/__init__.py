"""Certificates of models of known reasoning: tests of what their answers depend on."""
