"""Public corpora: fetched from where they are published, checked, and turned into files that `train` reads.

catalogue   the corpora: addresses, licences, and how their files are read
fetch       downloads that continue, with limits and checksums
unpack      archives and packed files, read within limits
convert     the forms of corpora become pairs
"""
