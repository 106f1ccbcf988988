"""The numbers of the compass: from relevance to a direction, and from a direction to its error.

projection        equations 1 and 2: from a relevance map to a distribution over directions
dae               equations 6 and 7 and A.4: the error of the peak or of the circular mean, edge and octant accuracy; resultant
                  length and the three labels of section 1
evidence_share    how much relevance is on the picture and on each object; how far an edit moves the answer
resampling        maps on the vision features, resampled to the grid of the tokens
baselines         maps that need no model
projected         all of these for every map of a run
"""
