from bangbang.models.attention_gru import AttentionGru as AttentionGru
from bangbang.models.base import Generator as Generator
from bangbang.models.base import InputDecoder as InputDecoder
from bangbang.models.base import TensorState as TensorState
from bangbang.models.base import TwoPassRollout as TwoPassRollout
from bangbang.models.ensemble import Ensemble as Ensemble
from bangbang.models.ensemble import EnsembleState as EnsembleState
from bangbang.models.show_and_tell import ShowAndTell as ShowAndTell
