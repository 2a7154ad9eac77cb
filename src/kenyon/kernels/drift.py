"""Abrupt drifts, told from rows of a stream that are answered worse than by silence.

A row is bad if its cost is above |y_true|^2, that of outputs of 0, and more than |x|^2 alone explains: after inputs
have jumped, outputs are too large until scales have followed, though the weights may be right. So the cost must exceed
|y_true|^2 times |x|^2 over its usual size, where that is above 1. The usual share of bad rows is taken from all rows
since the last drift, which are forgotten as elsewhere, by the factor g, and ROWS more, BAD of them bad, that nobody has
seen:

    p = (BAD + bad rows) / (ROWS + rows),    q = p + (1 - p) / 3

Evidence that their share has risen from p to q is summed up for as long as it is positive (CUSUM, Page 1954):

    S = max(0, S + log(q / p)) after a bad row,    S = max(0, S + log((1 - q) / (1 - p))) after any other

The stream has drifted if e^S > 1 / (1 - g): the last rows are more likely by q than by p, as many times as there are
rows in memory. Then only a share KEPT of the weights is left. All outputs shrink alike, so no prediction changes at
once; but the weights no longer stand in the way of what rows say from now on.
"""

import numpy as np
from numba import njit

BAD, ROWS = 2.0, 4.0  # rows counted in from the start
RISE = 1.0 / 3.0  # of the way from p to 1, for q
KEPT = np.float32(0.1)  # of the weights, after a drift


@njit
def drifted(seen, bad, forgetting):
    """Take a row into `seen`, shape (3,): bad rows, all rows and S; tell whether the stream has drifted.

    After a drift `seen` begins anew. The forgetting factor is less than 1.
    """
    p = (BAD + seen[0]) / (ROWS + seen[1])
    q = p + (1.0 - p) * RISE
    seen[2] = max(0.0, seen[2] + np.log(q / p if bad else (1.0 - q) / (1.0 - p)))
    seen[0], seen[1] = forgetting * seen[0] + bad, forgetting * seen[1] + 1.0
    if seen[2] + np.log(1.0 - forgetting) <= 0.0:
        return False
    seen[:] = 0.0
    return True
