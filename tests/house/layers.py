"""Who may import whom: the folders are layers, and this table keeps them so. ARCHITECTURE.md shows it.

A row allows whole folders (`text`) or single files (`text.vocabulary`). A permission that no import uses fails a test.
"""

# folder or file: (what of seqloom it may import beside itself, why)
RULES: dict[str, tuple[set[str], str]] = {
    "errors": (set(), "everyone imports it"),
    "progress": (set(), "a bar knows nothing of what it counts"),
    "files": (
        {"errors"},
        "writes files whole or not at all, reads regular ones; it knows nothing of what they hold",
    ),
    "config": ({"errors", "files.reading"}, "settings are read before anything else is loaded"),
    "text": ({"errors", "files"}, "strings and ids only"),
    "nn": ({"errors"}, "tensors in, tensors out: modules take plain numbers"),
    "data": ({"errors", "files", "config", "text"}, "files become batches; it knows no model"),
    "corpora": ({"errors", "files"}, "fetches and converts files; it knows nothing of models"),
    "demo": (set(), "it writes the embedded corpus and knows nothing of models"),
    "models": (
        {"errors", "files", "config", "nn", "text.vocabulary"},
        "pieces behind one contract; only build.py reads config",
    ),
    "decode": (
        {"errors", "models.api", "models.traced_attention", "nn.trace", "text.vocabulary"},
        "search sees the contract, never an architecture",
    ),
    "tasks": (
        {"config", "data", "models.api", "nn.loss", "text.vocabulary"},
        "what is learned, on any model; only build.py reads config",
    ),
    "metrics": ({"errors", "config.tasks"}, "texts in, numbers out"),
    "rerank": ({"errors", "metrics", "data.lines"}, "texts and scores in, an order out; it knows no model"),
    "vectors": (
        {"errors", "files", "progress", "config", "text", "data", "explain.charts", "training.speed", "runtime.folder"}
        | {"runtime.bundled", "runtime.sentence_vectors", "models.compact_weights"},
        "words and their vectors; of a model it knows the embedding table and the vectors of sentences",
    ),
    "runtime": (
        {"errors", "files", "config", "text", "models", "decode", "rerank.minimum_bayes_risk", "nn.trace"}
        | {"nn.adapter", "explain.document", "inside"},
        "text in, text out: must run where there is nothing to train",
    ),
    "explain": ({"errors"}, "draws what a model did from plain numbers; it knows no model"),
    "inside": (
        {"errors", "files", "config", "text", "nn", "models", "decode", "runtime", "data.store"}
        | {"explain.document", "explain.points"},
        "a loaded model and a text become an explain document; it draws nothing",
    ),
    "serve": (
        {"errors", "files.reading", "decode.options", "runtime", "explain.document", "inside"},
        "texts over HTTP: no torch, no training; a model is a Translator",
    ),
    "evaluation": (
        {"errors", "config", "text", "data", "models", "decode", "tasks", "runtime", "metrics"},
        "a model answers a file, and the answers are measured",
    ),
    "formats": (
        {"errors", "files", "config", "text", "data", "nn", "models", "decode", "runtime", "metrics"},
        "models in and out, one file per format and direction",
    ),
    "training": (
        {"errors", "files", "progress", "config", "text", "data", "nn", "models", "decode", "tasks", "runtime"}
        | {"metrics", "formats.export_ctranslate2", "vectors"},
        "the loop and what it needs; the loop itself sees no search and no metric",
    ),
    "planning": (
        {"errors", "config", "text.vocabulary", "data", "models.build", "tasks", "training"},
        "what a run will need, from a sample of its data and a few of its steps; it trains nothing and writes nothing",
    ),
    "scale": ({"errors", "files", "progress"}, "numbered chunks and workers; it knows nothing of what they compute"),
    "workflows": (
        {"errors", "files", "config", "data", "models", "decode", "training", "scale", "planning"}
        | {"metrics", "evaluation", "explain", "inside", "runtime", "rerank", "formats", "serve", "demo"}
        | {"corpora", "progress"},
        "one verb per file; it connects the layers and knows no command line",
    ),
    "ladder": (
        {"errors", "files", "progress", "config", "text", "data", "models.build", "runtime", "metrics", "evaluation"}
        | {"explain.charts", "training", "workflows"},
        "trains and measures one model per rung, by the verbs",
    ),
    "cli": (
        {"errors", "config", "workflows", "ladder", "formats", "vectors", "decode.options", "data.read_as"},
        "parse, call the verb, print",
    ),
    "__init__": (
        {"errors", "data.read_as", "decode.options", "runtime", "evaluation.report", "vectors", "workflows"},
        "the Python API: public names, each loaded when it is used",
    ),
    "__main__": ({"cli.app"}, "python -m seqloom"),
}

# Torch takes seconds to import: these folders never import it. test_start_up.py runs the verbs that must start without
# it (doctor, info, every --help).
NO_TORCH = (
    "errors",
    "files",
    "config",
    "text",
    "corpora",
    "demo",
    "metrics",
    "rerank",
    "serve",
    "cli",
    "__init__",
    "__main__",
)
