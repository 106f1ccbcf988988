"""How the twins learn. Torch through and through: load it late."""
