/* Indexes of real repositories with a fake outliner: the files' contents are the rows themselves,
 * with `|` for TAB and `^` for the separator of lists. */
#pragma once

#include "index/index.h"
#include "unit/cases.h"

typedef struct {
    const char *path;
    const char *rows;
} TestFile;

/* Commits the files (ended by a NULL path) to a new repository and takes its snapshot; the folder
 * goes when the test ends. */
AcrSnapshot *snapshot_of(const TestFile *files);
/* The same with the repository's objects gone, so that no file can be read. */
AcrSnapshot *snapshot_without_objects(const TestFile *files);
/* The index of the files; must succeed. */
AcrIndex *index_of(const TestFile *files);
/* What the fake outliner does; a source that begins with `!` fails with the rest of its line. */
AcrOutliner fake_outliner(void);

/* "path:qualname" of the ids, joined by blanks; owned. Frees the array. */
char *names_of(const AcrIndex *index, GArray *ids);
/* The only symbol of that kind and qualified name; must be there. */
/* Symbols of a built index; their ids are the numbers below. */
gsize n_symbols(const AcrIndex *index);
guint32 symbol_of(const AcrIndex *index, AcrSymbolKind kind, const char *path,
                  const char *qualname);

#define assert_names(index, ids, expected)                                                         \
    do {                                                                                           \
        g_autofree char *names_ = names_of(index, ids);                                            \
        g_assert_cmpstr(names_, ==, expected);                                                     \
    } while (0)

/* This program as a peer that outlines; its second argument is a mode. */
#define PEER_OPTION "--peer"
int peer_main(const char *mode);
