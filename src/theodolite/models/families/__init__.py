"""The architectures that attribution supports, one file each."""
