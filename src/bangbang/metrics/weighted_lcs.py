"""The weighted LCS of ROUGE-W: runs of consecutive matches count more, f(k) = k^w for a run of k.

    x_i = y_j:  c[i, j] = c[i-1, j-1] + f(k+1) - f(k),  k = l[i-1, j-1],  l[i, j] = k + 1
    else:       c[i, j] = max(c[i-1, j], c[i, j-1]),    l[i, j] = 0
The way back prefers a match, then up (on a tie too), then left. Sums are taken in the order written, so that ties of
floating-point numbers fall as in the Perl script.
"""

from collections.abc import Sequence

import numpy as np

from bangbang.errors import InputError

_CELLS_IN_PYTHON = 1 << 12
_MOST_CELLS = 1 << 29  # one bit each is kept for the way back


def matched_rows(x: Sequence[str], y: Sequence[str], weight: float) -> list[int]:
    """The positions of x in the weighted LCS that the Perl script finds, last first."""
    cells = len(x) * len(y)
    if cells <= _CELLS_IN_PYTHON:
        return _small(x, y, weight)
    if cells > _MOST_CELLS:
        raise InputError(
            f"ROUGE-W of sentences with {len(x):,} and {len(y):,} words would take too long; "
            "break the texts into lines, one sentence each, or leave rouge-w-1.2 out"
        )
    return _large(x, y, weight)


def _small(x: Sequence[str], y: Sequence[str], weight: float) -> list[int]:
    f = [k**weight for k in range(min(len(x), len(y)) + 2)]
    score, run = [0.0] * (len(y) + 1), [0] * (len(y) + 1)
    went_up = []
    for x_i in x:
        above, above_run = score, run
        score, run, up = [0.0], [0], [False]
        for j, y_j in enumerate(y, 1):
            if x_i == y_j:
                k = above_run[j - 1]
                score.append(above[j - 1] + f[k + 1] - f[k])
                run.append(k + 1)
                up.append(False)
            else:
                up.append(above[j] >= score[-1])
                score.append(above[j] if up[-1] else score[-1])
                run.append(0)
        went_up.append(up)
    found = []
    i, j = len(x), len(y)
    while i and j:
        if x[i - 1] == y[j - 1]:
            i, j = i - 1, j - 1
            found.append(i)
        elif went_up[i - 1][j]:
            i -= 1
        else:
            j -= 1
    return found


def _large(x: Sequence[str], y: Sequence[str], weight: float) -> list[int]:
    """The same by anti-diagonals: the cells with i + j = d depend on the two diagonals before only."""
    number: dict[str, int] = {}
    a = np.array([number.setdefault(token, len(number)) for token in x])
    b = np.array([number.setdefault(token, len(number)) for token in y])
    m, n = len(x), len(y)
    f = np.array([float(k**weight) for k in range(min(m, n) + 2)])
    # index i of a diagonal is row i; row 0 and column 0 stay 0
    previous, last = np.zeros(m + 1), np.zeros(m + 1)
    previous_run = last_run = np.zeros(m + 1, dtype=np.int64)
    went_up = []
    for d in range(2, m + n + 1):
        low, high = max(1, d - n), min(m, d - 1)
        rows = slice(low, high + 1)
        match = a[low - 1 : high] == b[d - high - 1 : d - low][::-1]
        k = previous_run[low - 1 : high]
        diagonal = previous[low - 1 : high] + f[k + 1] - f[k]
        up = last[low - 1 : high] >= last[rows]
        score, run = np.zeros(m + 1), np.zeros(m + 1, dtype=np.int64)
        score[rows] = np.where(match, diagonal, np.maximum(last[low - 1 : high], last[rows]))
        run[rows] = np.where(match, k + 1, 0)
        went_up.append(np.packbits(up))
        previous, last, previous_run, last_run = last, score, last_run, run
    return _way_back(a, b, went_up)


def _way_back(a: np.ndarray, b: np.ndarray, went_up: list[np.ndarray]) -> list[int]:
    found = []
    i, j = len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            found.append(i)
            continue
        d = i + j
        index = i - max(1, d - len(b))
        if went_up[d - 2][index >> 3] >> (7 - (index & 7)) & 1:
            i -= 1
        else:
            j -= 1
    return found
