"""Tables, figures, the HTML report and the local viewer."""
