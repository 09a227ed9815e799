"""Planning: what a training run will cost, before it starts.

workload   the batches that a run would read: of a sample of the data, or of made-up lengths
costs      what a model needs per token: operations, memory, and seconds measured on this machine
machine    the machine that trains: this one, or a described one
forecast   updates, hours, memory and traffic of a run
deal       which process computes which part of a step
render     a forecast in words
"""
