"""The controls of the compass, one file each; `theodolite.compass.controls` is the way in."""
