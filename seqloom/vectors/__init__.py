"""Word vectors: learned, stored, queried and drawn.

words             texts become words and ids
bag               one-hot and bag-of-words vectors
word2vec          the objective of word2vec with negative sampling
skipgram          skip-gram: a word predicts its context
cbow              CBOW: the context predicts the word
train_word2vec    stochastic gradient descent for word2vec
context_windows   blocks of words with their contexts
cooccurrence      weighted co-occurrence counts
glove             GloVe: objective and training
team              threads that share one step, with the same result every time
settings          the settings of training
train             trains vectors with any method
make              text files become a vector file
word_vectors      WordVectors: nearest words, analogies
measure           nearest, analogy and similarity for the command line
questions         accuracy on analogy questions
word_pairs        rank correlation with human similarity judgements
files             loads and saves vector files
model_table       the embedding table of a trained model as word vectors
of_sentences      sentences, and words in their sentences, as vectors of a trained model
head              checks the header of a vector file
text_format       the text format
binary_format     the binary format
start             rows of an embedding table that a vector file can fill
plot              draws words of a vector file
picture           projects words to two dimensions, with clusters
word_map          a map of words as PNG or HTML
"""
