"""The numbers of the compass, one module each: from relevance to a direction, and from a direction to its error.

projection        equations 1 and 2: from a relevance map to a distribution over directions
dae               equation 6: direction alignment error of the peak, or of the circular mean
edge_accuracy     equation 7 and A.4: shares of errors within 45° and 22.5°
concentration     resultant length, and the three labels of section 1
evidence_share    how much relevance is on the picture, and on each object
baselines         maps that need no model
projected         all of these for every map of a run
"""
