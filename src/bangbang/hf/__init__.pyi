from bangbang.hf.inputs import Inputs as Inputs
from bangbang.hf.inputs import Template as Template
from bangbang.hf.legs import Stage as Stage
from bangbang.hf.metric_config import MetricConfig as MetricConfig
from bangbang.hf.policy import Policy as Policy
from bangbang.hf.tokens import Tokens as Tokens
from bangbang.hf.trainer import MetricTrainer as MetricTrainer
