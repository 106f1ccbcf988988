"""The instruments. Each is a folder with the same rooms: data, questions, measure, formulas, experiments, score, figures."""
