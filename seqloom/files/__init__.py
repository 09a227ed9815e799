"""Files: written whole or not at all, and locked while a run uses them.

reading      reads the files of a folder that may come from a stranger: regular files only, up to a size
durable      atomic writes: temporary file, fsync, rename
leftovers    temporary files and folders: who is writing them, and how those of a dead process are cleared
kernel_lock  locks of the kernel on open files and folders
lock         one training process per run folder
folders      writes folders whole or not at all: in a temporary folder, synced, then renamed
"""
