"""Scene: do answers agree with the model's own 3D scene graph, and is perception or reasoning the bottleneck (CRISP)?"""
