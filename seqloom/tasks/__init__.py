"""Tasks: which batches a model learns from, and the loss on one batch.

api                  the contract of a task
build                settings become a task
translate            encoder-decoder on pairs, with teacher forcing
scheduled_sampling   the decoder sometimes reads its own output during training
language             language modelling
encoder_task         base of the tasks of encoder-only models
classify             one label per text
tag                  one tag per word
masked               masked language modelling (BERT)
denoise              text denoising (BART)
"""
