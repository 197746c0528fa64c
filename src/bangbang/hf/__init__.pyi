from bangbang.hf.inputs import Inputs as Inputs
from bangbang.hf.inputs import Template as Template
from bangbang.hf.policy import Policy as Policy
from bangbang.hf.tokens import Tokens as Tokens
