from bangbang.training.ensemble import EnsembleRun as EnsembleRun
from bangbang.training.loop import Outcome as Outcome
from bangbang.training.loop import train as train
from bangbang.training.run import Run as Run
