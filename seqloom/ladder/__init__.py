"""The ladder: the lineage of models, trained and compared on one corpus.

run         the verb: trains, measures and reports every rung
rungs       the rungs, in the order of history
settings    what --set changes in each rung
tokenizer   the one tokenizer that all rungs share
scores      the test scores of a rung, kept as scores.json
finished    finished rungs that belong in the report too
report      gathers report.json and writes the pages
tables      tables and sentences of the report
samples     what each rung wrote for a few test sentences
pages       the report as Markdown and HTML
charts      the charts of the report
papers      published results, for comparison
document    the types of report.json and of each rung's scores.json
"""
