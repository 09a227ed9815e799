"""Scale: the same answers with more than one process.

bulk            answers a large file in numbered chunks: exactly once, in order, resumable
chunk_folder    the finished chunks of a bulk command, and the manifest that says what they belong to
work            what a worker is given and what it gives back
local_workers   worker processes on this machine
ray_workers     workers on a Ray cluster
"""
