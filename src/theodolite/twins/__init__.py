"""Twins of known reasoning: tiny vision-language models, one that must look and one that need not."""
