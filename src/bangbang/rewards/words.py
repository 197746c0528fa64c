"""A reward of words for a model of pieces of words: R of a sequence is that of its decoded text.

The reward inside sees the metric's words, in ids of their own, and `</s>`. At one time rows have written different
numbers of words, so nothing is asked while they are written: all rows go over their words together afterwards.

B rows · M references per row · T time · W words · P paths: sequences of words that the reward inside goes over
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import compress

import torch
from torch import Tensor

from bangbang.contracts import Increments, Reward, RewardInputs, RewardState
from bangbang.errors import InputError
from bangbang.rewards.increments import adapted, arg_max_set
from bangbang.rewards.word_view import WordView
from bangbang.symbols import EOS, PAD, SYMBOLS

PASSING = 1 << 30  # from here on are the ids of words that one batch alone knows
Ids = tuple[int, ...]


class Lexicon:
    """The ids of words that the reward inside knows by their texts: those of the training references, if any."""

    def __init__(self) -> None:
        self.words = list(SYMBOLS)
        self.ids: dict[str, int] = {}

    def learn(self, word: str) -> str:
        if word not in self.ids:
            self.ids[word] = len(self.words)
            self.words.append(word)
        return word


class BatchWords:
    """The ids of a batch's words; other words than the lexicon's are numbered as they come up."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon, self.others = lexicon, dict[str, int]()

    def path(self, words: Sequence[str], ended: bool) -> Ids:
        known, others = self.lexicon.ids, self.others
        found = (known[word] if word in known else others.setdefault(word, PASSING + len(others)) for word in words)
        return (*found, EOS) if ended else tuple(found)


def in_words(build: Callable[[RewardInputs], Reward], inputs: RewardInputs, metric: str) -> "WordReward":
    """A reward over words: `build` makes it of inputs, `metric` is the name of the one whose words it counts."""
    view, lexicon = WordView.of(inputs, metric), Lexicon()

    def references() -> Iterator[list[list[str]]]:
        for example in view.training_words(inputs.training_references):
            yield [[lexicon.learn(word) for word in words] for words in example]

    return WordReward(build(RewardInputs(lexicon.words, " ", references)), view, lexicon)


class WordReward:
    """R(z | y) of a reward over the metric's words of decoded texts; `</s>` is one more word, as in all rewards."""

    def __init__(self, reward: Reward, view: WordView, lexicon: Lexicon | None = None) -> None:
        self.reward, self.view, self.lexicon = reward, view, lexicon or Lexicon()

    def start(self, references: Tensor) -> "WordState":
        """`references`: token ids [B, T], or [B, M, T] with several per row; one that is all `<pad>` is absent."""
        several = references.unsqueeze(1) if references.ndim == 2 else references
        rows = [[written(tokens) for tokens in each if any(tokens)] for each in several.tolist()]
        read = iter(self.view.read_texts([tokens for each in rows for tokens in each]))
        words, known = BatchWords(self.lexicon), len(self.lexicon.words)
        # in which the metric reads nothing: a word that nobody writes
        paths = [[words.path(next(read) or [""], True) for _ in each] for each in rows]
        inside = adapted(self.reward.start(stacked(paths).to(references.device)))
        if len(self.lexicon.words) > known:  # it has just read the training references: words have other ids now
            return self.start(references)
        return WordState(self.view, inside, words, rows, [()] * len(rows))


class WordState(RewardState):
    """Keeps the tokens of each row, and asks the reward inside when it is asked itself."""

    def __init__(
        self,
        view: WordView,
        inside: RewardState,
        words: BatchWords,
        references: Sequence[Sequence[Ids]],
        prefixes: Sequence[Ids],
    ) -> None:
        """`inside`: the reward of empty prefixes."""
        self.view, self.inside, self.words = view, inside, words
        self.references, self.prefixes = list(references), list(prefixes)

    def increments(self) -> Increments:
        raise InputError(
            'reward.units = "words" pays whole words; for this method and what explains it, set it to "tokens"'
        )

    def advance(self, tokens: Tensor) -> None:
        pairs = zip(self.prefixes, tokens.tolist(), strict=True)
        self.prefixes = [z if token == PAD or z[-1:] == (EOS,) else (*z, token) for z, token in pairs]

    def value(self) -> Tensor:
        return self.at_end(lambda state: state.value())

    def main_value(self) -> Tensor:
        return self.at_end(lambda state: state.main_value())

    def loss_weight(self) -> Tensor:
        return self.at_end(lambda state: state.loss_weight())

    def at_end(self, ask: Callable[[RewardState], Tensor]) -> Tensor:
        """What the reward inside says after the words of each row. [B]"""
        read = zip(self.view.read_texts(self.prefixes), self.prefixes, strict=True)
        paths = [self.words.path(words, z[-1:] == (EOS,)) for words, z in read]
        rows = torch.arange(len(paths))
        return self.along(rows, paths, ask)[rows, [len(path) for path in paths]]

    def along(self, rows: Tensor, paths: Sequence[Ids], ask: Callable[[RewardState], Tensor]) -> Tensor:
        """The same after 0, 1, 2, ... words of paths, each of which belongs to one of the rows [P]: [P, W + 1]"""
        return torch.stack([ask(state) for state in over(self.inside.select(rows), paths)], 1)

    def read(self, tokens: Tensor) -> Tensor:
        """Append tokens to empty prefixes: what was earned before each, by the text as it stood there [B, T].

        A word that may still go on counts as it stands. To leave it out until it is complete would need the next token,
        on which what is taken off that token's reward must not depend.
        """
        for each in tokens.unbind(1):
            self.advance(each)
        read = iter(self.view.read_texts([z[:t] for z in self.prefixes for t in range(len(z) + 1)]))
        rows: list[int] = []
        paths: list[Ids] = []
        places = torch.zeros(2, *tokens.shape, dtype=torch.long)  # of each token: its path, and how far along it
        for row, z in enumerate(self.prefixes):
            before, whole, own = [next(read) for _ in z], next(read), len(paths)
            paths.append(self.words.path(whole, z[-1:] == (EOS,)))
            for t, words in enumerate(before):
                if words != whole[: len(words)]:  # the last one went on
                    paths.append(self.words.path(words, False))
                path = own if words == whole[: len(words)] else len(paths) - 1
                places[:, row, t] = torch.tensor([path, len(words)])
            rows += [row] * (len(paths) - own)
        shares = self.along(torch.tensor(rows), paths, lambda state: state.loss_weight())
        return shares[tuple(places.to(shares.device))]

    def best_spellings(self, rows: Sequence[int]) -> list[list[Ids]]:
        """How the references write the words that are best next, for some rows whose last word is complete.

        In the references' order; none where any other word is as good. A unit stands and falls by its first word.
        """
        paths = [self.words.path(words, False) for words in self.view.read_texts([self.prefixes[row] for row in rows])]
        found: list[list[Ids]] = [[] for _ in rows]
        for count, state in enumerate(over(self.inside.select(torch.tensor(rows)), paths)):
            due = [place for place, path in enumerate(paths) if len(path) == count]
            if due:
                spelled = [self.spellings(rows[place]) for place in due]
                best = best_words(state.select(torch.tensor(due)).increments(), spelled)
                for place, ways, words in zip(due, spelled, best, strict=True):
                    found[place] = [way for word, each in ways.items() if word in words for way in each]
        return found

    def spellings(self, row: int) -> dict[int, list[Ids]]:
        """By the first word of each unit of the references: how it is written behind the row's tokens."""
        last = self.prefixes[row][-1] if self.prefixes[row] else None
        found: dict[int, list[Ids]] = {}
        for reference in self.references[row]:
            for unit in self.view.units(reference):
                first = EOS if unit.tokens[-1] == EOS else self.words.path(unit.words[:1], False)[0]
                spelled = self.view.spelling(unit.tokens, last)
                if spelled and spelled not in found.setdefault(first, []):
                    found[first].append(spelled)
        return found

    def select(self, rows: Tensor) -> "WordState":
        chosen = (rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows).tolist()
        kept = [self.references[row] for row in chosen], [self.prefixes[row] for row in chosen]
        return WordState(self.view, self.inside.select(rows), self.words, *kept)


def best_words(increments: Increments, spelled: Sequence[dict[int, list[Ids]]]) -> list[set[int]]:
    """Of the words that can be written, those that are best; none where every other word is among the best."""
    tokens = increments.tokens.tolist()
    usable = [[token in ways for token in row] for row, ways in zip(tokens, spelled, strict=True)]
    never = ~torch.tensor(usable, dtype=torch.bool, device=increments.rest.device).view_as(increments.tokens)
    penalties = None if increments.penalties is None else increments.penalties.masked_fill(never, -torch.inf)
    values = increments.values.masked_fill(never, -torch.inf)
    best = arg_max_set(increments._replace(values=values, penalties=penalties))
    chosen = (best.candidates & ~never & ~best.rest.unsqueeze(1)).tolist()
    return [set(compress(row, those)) for row, those in zip(tokens, chosen, strict=True)]


def over(state: RewardState, paths: Sequence[Ids]) -> Iterator[RewardState]:
    """A state after 0, 1, 2, ... words of each path; what is over goes on with `</s>`."""
    longest = max(map(len, paths), default=0)
    steps = torch.tensor([[*path, *[EOS] * (longest - len(path))] for path in paths], dtype=torch.long)
    yield state
    for words in steps.view(len(paths), longest).to(state.value().device).unbind(1):
        state.advance(words)
        yield state


def written(tokens: Sequence[int]) -> Ids:
    return tuple(token for token in tokens if token != PAD)


def stacked(paths: Sequence[Sequence[Ids]]) -> Tensor:
    """[B, M, W], padded."""
    most, longest = max(map(len, paths)), max(len(path) for each in paths for path in each)
    rows = [[*each, *[()] * (most - len(each))] for each in paths]
    return torch.tensor([[[*path, *[PAD] * (longest - len(path))] for path in each] for each in rows])
