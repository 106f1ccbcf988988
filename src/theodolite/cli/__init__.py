"""The command line: one module per noun, loaded when its noun is called."""
