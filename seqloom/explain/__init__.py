"""Explaining: what a model did, as documents and drawings.

document     the explain document: what a model did with a text, as data; every view is drawn from it
points       its parts that are lines and points: paths of states, maps of sentences, curves of training
alignment    the attention of one translation as a JSON document
heatmap      draws an alignment in the terminal
page         the document as one offline HTML file; the folder page/ holds its script and style, the folder live/ the
             script that runs a model inside the page
terminal     draws the document in the terminal
beam_tree    the tree of a search in the terminal
picture      one view of the document as PNG or SVG (matplotlib)
panels       what such a picture is put together from: heat maps, points
view_panels  what such a picture holds, per view
charts       draws bar and line charts as PNG (matplotlib)
"""
