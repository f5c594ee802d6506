#ifndef CSM_FILES_H
#define CSM_FILES_H

// csm_files_add lets restricted databases of this process reach below a directory, or keeps them out of one that is spilled to. The path is
// absolute and clean, without a slash at its end, and copied. False: no memory.
_Bool csm_files_add(const char *path, _Bool spill);

// csm_files_remove takes one csm_files_add back.
void csm_files_remove(const char *path, _Bool spill);

// csm_files_image says which name the databases of this process attach now, for themselves; NULL: none.
void csm_files_image(const char *path);

// csm_files_spilled reports whether an absolute, clean name without links is a spill directory's or below one.
_Bool csm_files_spilled(const char *path);

#endif
