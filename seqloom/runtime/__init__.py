"""Runtime: text in, text out, with a trained model.

answering            loads any model folder as the class that fits its task
translator           Translator: translate, n-best, alternatives, samples, alignment
generator            Generator: text from a language model
labeller             Labeller: labels of texts, tags of words
gap_filler           GapFiller: words for gaps, from a masked model
sentence_vectors     SentenceVectors: one vector per sentence
explaining           `explain` of every loaded model: the explain document of a text
encoder_model        base of Labeller and GapFiller
bundled              the models in the box, by name
folder               opens and checks a run folder
checkpoints          which checkpoints a run has, and whether each is whole
members              which models can form an ensemble
engines              chooses the engine
engine_torch         the reference engine, on torch
engine_ctranslate2   the fast engine for Transformers
ctranslate2_files    the files of CTranslate2, made from the weights of a Transformer
transformer_weights  the weights of a Transformer, read without torch
engine_onnx          the fast engine for recurrent models
engine_folder        engine/ of a run folder and its manifest
onnx_graph           runs one ONNX graph
onnx_check           which ONNX graphs are run
ctranslate2_check    which files are given to CTranslate2
fast_recurrent       a faster step for recurrent models on torch
capitals             texts in capitals: read in lower case, answered in capitals
inputs               texts become ids within the model's limits
sentences            splits long texts into sentences
plain_module         a model as a plain torch module, for your own training steps
parts                splits texts into parts and joins the outputs
prefixes             forced beginnings of outputs
scoring              log-probabilities of given targets (teacher forcing)
word_alignment       word alignments from attention
folder_sizes         the size of each part of a run folder, and what may be deleted
run_facts            run.json as a type, with checks for a file from a stranger
"""
