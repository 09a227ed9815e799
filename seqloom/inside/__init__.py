"""Looking inside: a model and a text become an explain document.

subject           one model on one text: ids, texts, forward pass and recordings, for all views
prepare           makes the subject of a loaded model and a text, for each shape of answer
samples           other texts of a model, to measure heads and the axes of states on
surface           which characters of a text each token covers
lanes             runs the views on a subject and builds the document
views             the registry of views: function, the families that have it, help
attention         attention to the source and self-attention
heads             what each attention head does, over many sentences
gates             gates and states of recurrent cells
states            paths of states, and many sentences on one map
basis             the axes of states (PCA), fitted once per model and kept in its folder
lens              what a model would say from an earlier layer or fewer words
positions         positional encodings
hooks             outputs of parts of a model seen or replaced, in the thread that explains only
input_gradients   gradients of predictions with respect to the tokens that were read
flow              gradient flow: how strongly each prediction depends on each token
score_path        how scores change on the path from average words to the text, and where to split it
integrated_gradients   the part of a score that came from each token, on a path split where needed
attribution       which tokens a prediction came from; its agreement with attention
beam_tree         the tree of a beam search, and where a reference fell out
edits             heads switched off, attention or gates set by hand: what is changed
what_if           a model that runs with edits
curves            training curves of runs, from their logs
"""
