"""The architectures that attribution knows, one file each."""
