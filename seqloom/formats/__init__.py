"""Formats: models in and out, one file per format and direction.

export_compact        writes a model folder with matrices in 8 bits
export_ctranslate2    writes a CTranslate2 model
export_hugging_face   writes a Hugging Face folder (Marian, Pegasus)
export_onnx           writes two ONNX graphs and onnx.json
import_hugging_face   reads BERT-type and GPT-2-type folders
import_g2p            reads the recurrent model inside the package g2p_en
import_marian         reads Marian-type folders (OPUS-MT)
public_weights        names of BERT and GPT-2 tensors in our models
hugging_face_names    names of Marian and Pegasus tensors in our Transformer
onnx_contract         the model contract as two functions that can be traced
trace_onnx            traces those functions into ONNX graphs
live_model            a model as JSON that a page can run: graphs, weights, tokenizers, rules of the search
live_graphs           the graphs of onnx_contract as JSON
live_weights          arrays as text: 16 or 8 bits, compressed
onnx_greedy           greedy search on the exported graphs, to check them
quantise_onnx         8-bit weights for ONNX graphs
shortlist             lexical shortlist: the target tokens that a source token may become
check_engine          the checks that a fast engine must pass before it is kept
import_folder         `seqloom import`: the registry of importers, chosen by the folder's config.json
public_folder         reads and checks a folder of public weights in the Hugging Face layout
registry              the formats that `seqloom export` writes: one row per format
"""
