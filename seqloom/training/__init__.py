"""Training: the loop and everything a run needs.

loop                the training loop
objective           what a loop is given: model, loss, batches, validation, surroundings
optimizers          optimizers: AdamW, SGD, Adadelta; their state as named tensors
gradient_clipping   gradients scaled by the number of tokens and clipped by their norm
part_rates          learning rates per part of a model; freezing
precision           float32 or bfloat16 products
settings            the settings of a run: recipe, overrides, machine, files
choose_recipe       the recipe that fits the data when none is given
data                named files become tokenised, accounted-for data
init_from           --init, word vectors and adapters at the start of a run
checkpoint          atomic checkpoints
state               everything else that the next step depends on
resume              a run continues only with the same settings and data
clock               progress and end of a run by steps, epochs or time
expectation         how far a budget goes, and a notice of a model that saw little of its data
run_end             what ends a run, and whether it has ended
validation          validation loss and samples during training
samples             sample outputs at each validation
run_parts           the parts of a run once its data is ready
stopped_run         finishes a stopped run from its newest checkpoint
finish              chooses the final weights and writes the model folder
metrics_log         metrics.jsonl and TensorBoard
tensorboard_log     the file of events that TensorBoard shows
signals             Ctrl-C and SIGTERM: save and stop
speed               speed of the machine and use of it
request             one call of `seqloom train`: what the user asked for, and the same with its settings resolved
world               the processes of a run as torchrun announces them, and the threads of each
processes           what a run asks of its processes: parts of a step, gradients, clock, signals; the answers of one
several             the answers of several processes, connected by torch.distributed
ordered_sum         sums the gradients of the parts of a step in their order; each parameter has an owner
tensor_stream       writes tensors to a file as they arrive
follow              a run in the processes after the first
same_everywhere     what must be equal in all processes
run                 one training run, once its settings are resolved: prepare the data, build the model, loop, finish
schedules           the learning rate of each step: linear warm-up to the peak, then the schedule
tokenizers          the tokenizers of a run: learned from the texts of the checking pass, or taken from a folder
"""
