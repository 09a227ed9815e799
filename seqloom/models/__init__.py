"""Models: layers put together behind one contract.

api                   the contract: encode, start, step, hidden, project
build                 settings become a model; the registry of model families
rnn                   recurrent encoder-decoder (seq2seq)
fixed_vector          its decoder without attention: a fixed context vector
bahdanau              its decoder with attention before each step (RNNsearch)
luong                 its decoder with attention after each step, with input feeding
transformer           Transformer encoder-decoder
transformer_encoder   the encoder alone, also for BERT
encoder_only          encoder with a linear layer: classifiers, taggers, masked models
gpt                   decoder-only Transformer (GPT)
rnn_language          recurrent language model
take_over             copies the tensors that fit from another model (--init)
weights               saves and loads weights as safetensors
compact_weights       matrices in 8 bits with a scale per row, and weight files as arrays
stored_shapes         shapes in a weight file, read without torch
recurrent_decoder     the base of the recurrent decoders: sizes, and attention to the source
traced_attention      reads the attention to the source from a model's trace
"""
