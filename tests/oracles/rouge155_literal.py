"""ROUGE-1.5.5 restated slowly and literally: full tables, plain dictionaries, one reference at a time."""

import re
from collections import Counter

from bangbang.metrics.stemmer import stem as stem_word


def sentences(text, stem=False, max_bytes=None, for_lcs=True):
    lines = [line for line in text.encode("utf-8", "surrogatepass").split(b"\n") if line]
    kept, used = [], 0
    for line in lines:
        room = None if max_bytes is None else max_bytes - (0 if for_lcs else used)
        if room is None or len(line) < room:
            kept.append(line)
            used += len(line)
        else:
            kept.append(line[:room])
            break
    out = []
    for line in kept:
        words = re.sub(rb"[^a-z0-9]", b" ", line.lower()).decode("ascii").split()
        out.append([stem_word(word) if stem else word for word in words])
    return out


def joined(text, **options):
    # the script joins the bytes before it looks for words, with a space between lines
    return [word for sentence in sentences(text, for_lcs=False, **options) for word in sentence]


def grams(words, order):
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))


def skip_grams(words, with_words):
    found = Counter()
    for i in range(len(words) - 1):
        if with_words:
            found[words[i],] += 1
        for j in range(i + 1, len(words)):
            found[words[i], words[j]] += 1
    return found


def clipped(reference, candidate):
    return reference.total(), candidate.total(), sum(min(n, candidate[g]) for g, n in reference.items())


def mark_lcs(x, y, weight=None):
    """Positions of x on the way back through the full table; weighted if a weight is given."""
    c = [[0.0] * (len(y) + 1) for _ in range(len(x) + 1)]
    run = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    move = [[""] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            if x[i - 1] == y[j - 1]:
                k = run[i - 1][j - 1]
                c[i][j] = c[i - 1][j - 1] + 1 if weight is None else c[i - 1][j - 1] + (k + 1) ** weight - k**weight
                run[i][j], move[i][j] = k + 1, "diagonal"
            elif c[i - 1][j] >= c[i][j - 1]:
                c[i][j], move[i][j] = c[i - 1][j], "up"
            else:
                c[i][j], move[i][j] = c[i][j - 1], "left"
    i, j, marks = len(x), len(y), set()
    while i and j:
        if move[i][j] == "diagonal":
            i, j = i - 1, j - 1
            marks.add(i)
        elif move[i][j] == "up":
            i -= 1
        else:
            j -= 1
    return marks


def union_hits(reference, candidate, reference_words, candidate_words, weight=None):
    left_reference, left_candidate = Counter(reference_words), Counter(candidate_words)
    hits = 0
    for x in reference:
        marks = set().union(*(mark_lcs(x, y, weight) for y in candidate)) if candidate else set()
        run = 0
        for j, word in enumerate(x):
            if j in marks and left_reference[word] > 0 and left_candidate[word] > 0:
                left_reference[word] -= 1
                left_candidate[word] -= 1
                if weight is None:
                    hits += 1
                    continue
                run += 1
                if j + 1 not in marks:
                    hits += run**weight
                    run = 0
    return hits


def counts(metric, candidate, reference, stem=False, max_bytes=None):
    """(reference units, candidate units, hits) of one pair."""
    options = {"stem": stem, "max_bytes": max_bytes}
    ours, theirs = joined(candidate, **options), joined(reference, **options)
    if metric[6:].isdigit():
        return clipped(grams(theirs, int(metric[6:])), grams(ours, int(metric[6:])))
    if metric in ("rouge-s", "rouge-su"):
        with_words = metric == "rouge-su"
        return clipped(skip_grams(theirs, with_words), skip_grams(ours, with_words))
    our_sentences, their_sentences = sentences(candidate, **options), sentences(reference, **options)
    if metric == "rouge-l":
        hits = union_hits(their_sentences, our_sentences, theirs, ours)
        return sum(map(len, their_sentences)), len(ours), hits
    hits = union_hits(their_sentences, our_sentences, theirs, ours, 1.2)
    return sum(len(s) ** 1.2 for s in their_sentences) ** 1.2, len(ours) ** 1.2, hits
