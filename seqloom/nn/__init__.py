"""Layers: tensors in, tensors out, each with its equation.

cells                   recurrent cells with their gates: RNN, LSTM, GRU
recurrent               a cell over time, in both directions and in layers
reversal                reverses padded sequences: backward layers, source reversal
stack                   the layers of cells in a decoder
bridge                  first states of the decoder from the last states of the encoder
scores                  attention scores: dot, scaled dot, Gaussian, bilinear, additive; attention pooling
multihead               multi-head attention
rounded_attention       attention of training in bfloat16
prompted                attention over a shared source and a hypothesis's own tokens
positions               positional encodings: sinusoidal, learned, rotary, none
blocks                  Transformer blocks: residual, layer norm, feed-forward
key_value_cache         keys and values of the positions read so far
masks                   padding and causal masks; masked softmax
embed                   embedding table and output matrix, shared or not
readout                 the vector from which a decoder predicts the next token
loss                    output layer and cross-entropy with label smoothing
dropout                 dropout
adapter                 low-rank adapters (LoRA)
trace                   records attention, gates and states during a forward pass
late_weight_gradients   faster gradients of weights that every time step uses
tanh                    faster tanh for training
onnx_layer              a recurrent layer as one ONNX operator
"""
