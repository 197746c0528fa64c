from bangbang.contracts import Batch as Batch
from bangbang.contracts import Vocabulary as Vocabulary
from bangbang.corpora.pairs import Pair as Pair
from bangbang.data.corpus import Corpus as Corpus
from bangbang.data.order import batches as batches
from bangbang.data.preparation import prepare as prepare
from bangbang.data.split import Split as Split
from bangbang.data.vocabulary import load_vocabulary as load_vocabulary
