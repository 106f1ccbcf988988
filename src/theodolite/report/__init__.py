"""Tables, figures, the HTML page and the local viewer."""
