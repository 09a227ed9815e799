"""Data: files become checked pairs, token ids and batches.

read_as            the options --columns, --delimiter and --encoding
recognise          what a file is, by its content: table, JSON, translation memory, or nothing that holds pairs
sample             a look at a file before it is read: bytes from places spread over it
encodings          UTF-8, UTF-16 and others: finds the encoding of a file and reads it
separators         what separates the columns of a table
headers            names of columns and fields that mean source and target
corpus             a corpus by its name (pairs.tsv, a.en,a.fr ...): format, columns, rows
lines              reads lines: encoding, gzip, line ends, broken bytes
unpacked           the content of gzip files, with a bound against bombs
table_readers      tables and parallel files: rows become pairs, or faults in their place
forms              what the files of each task hold: pairs, labels, tags, plain text
languages          language codes in the names of files and columns
letters            the script (Latin, Cyrillic, Han ...) of each text
reading_words      says how a corpus is read: what the file is, which column is which
doctor             the check of a corpus: one pass, one report
findings           the doctor's report and its findings
checks             checks of pairs: characters, copies, lengths, scripts, swapped sides
label_checks       checks of labels and tags
repeats            duplicates, and overlap between training, validation and test files
swapped_sides      finds lines whose source and target are swapped
repair             `doctor --fix`: writes the usable pairs
account            counts of kept and left-out records, with reasons
too_long           records with more tokens than data.max_tokens: cut or refused
hold_out           chooses the pairs that are held out for validation
prepare            opens the token store of a run, or builds it
store              the token store: ids of all pairs in memory-mapped files
shards             which stretches of the corpora are encoded apart, and by whom
encoder            pairs become token ids, or are left out
store_builder      encodes shards of a token store
store_index        joins shards to a token store
store_checks       checks a token store: hashes of its files, ranges of its numbers
origin             fingerprint of data, tokenizers and settings that a store was made from
sampler            batches by token budget and length buckets: a pure function of (seed, epoch)
batch              padded tensors and masks of one batch
language_windows   plain text as one token stream, cut into windows for language models
noise              noise for denoising: masked spans, shuffled sentences (BART)
csv_reader         CSV: a quoted cell may hold separators, doubled quotes and line ends
jsonl_reader       JSON: objects or lists become pairs, their fields chosen by name
json_array         the elements of a JSON array, one by one
tmx_xliff          TMX and XLIFF: units become pairs
spooled            standard input, copied to a file that can be read twice
given              pairs as objects of Python: lists, iterators, pandas DataFrames
remote             files at an address: fetched once, then read like any other
text_spool         texts on disk between the pass that checks them and the tokenizer that learns from them
"""
