"""Other people's file formats; `theodolite.scene.interop` is the way in."""
