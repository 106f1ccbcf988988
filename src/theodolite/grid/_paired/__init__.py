"""The paired models of the grid: network, losses, training, certificate. All torch; loads where it is used."""
