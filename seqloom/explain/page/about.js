// What each view shows, and what it does not mean. docs/how-to/views.md has a section per view with more.

export const ABOUT = {
  attention: {
    title: "Attention",
    sees: "One row per output token: how the model spread its attention over the source tokens when it wrote it. Rows sum to 1.",
    not: "A large weight does not prove that the word decided the output: other weights can give the same output. Compare with Attribution.",
  },
  self: {
    title: "Self-attention",
    sees: "Which tokens of the same text each token looks at, as a matrix and as arcs. Arcs show the largest weights that make up 75 % of a row.",
    not: "A head may park its weight on the first token or on punctuation when it has nothing to do. Layers above mix what lower layers moved.",
  },
  heads: {
    title: "Heads",
    sees: "All heads of all layers on this sentence. The word below is the kind of token the head looks at most, measured over many sentences.",
    not: "A role is a mean. A head called “previous” can do something else in this sentence, and removing it may change nothing.",
  },
  gates: {
    title: "Gates",
    sees: "How open the gates of a recurrent network are at each token, as the mean over all units. Open a row to see every unit.",
    not: "A mean hides units that do opposite things. An open gate lets something through; it does not say what.",
  },
  gradients: {
    title: "Gradient flow",
    sees: "How strongly the log-probability of each output token reacts to a small change of the vector of each token that was read, on a logarithmic scale.",
    not: "This is the slope at one point, not the effect of removing a word. Fresh weights can contradict a lecture: compare both.",
  },
  attribution: {
    title: "Attribution",
    sees: "How much of each output token came from each source word and from the words already written. Blue raised its probability, orange lowered it.",
    not: "Methods disagree: τ compares the ranking with attention, the control is uniform attention. A low τ means that one of them is misleading.",
  },
  states: {
    title: "States",
    sees: "The state of the network after each token, on the two directions in which states vary most (PCA, fitted once per model).",
    not: "Two of hundreds of dimensions. Points that touch here can be far apart in the directions that are not shown.",
  },
  phrases: {
    title: "Sentences on a map",
    sees: "One point per sentence. Sentences that the encoder treats alike lie together.",
    not: "Distances between far groups mean little, and the axes have no names: they are only the directions of largest variance.",
  },
  beam: {
    title: "Beam search",
    sees: "Every hypothesis the search looked at, best on top. The thick path is the answer; dashed branches were pruned.",
    not: "The highest score is not the best translation. A wider beam finds higher scores and can give worse text.",
  },
  lens: {
    title: "Lens",
    sees: "What the decoder would write if it read an earlier layer, or only the first words of the source.",
    not: "Later layers were never trained to read earlier ones. Nonsense at a layer does not mean that the information is missing.",
  },
  positions: {
    title: "Positional encoding",
    sees: "The vector that tells the model the position of a token, and how alike the vectors of two positions are.",
    not: "Similar vectors do not mean that the model cannot tell the positions apart.",
  },
  curves: {
    title: "Training curves",
    sees: "Loss and other figures of each run, over its steps.",
    not: "Training loss with dropout or label smoothing cannot be compared with validation loss.",
  },
};
