/* Indexes of real repositories with a fake outliner: the files contain the rows themselves, in
 * which `|` stands for TAB and `^` for the separator of lists. */
#pragma once

#include "index/index.h"
#include "unit/cases.h"

typedef struct {
    const char *path;
    const char *rows;
} TestFile;

/* Commits the files (ended by a NULL path) to a new repository and takes its snapshot; the
 * repository is removed when the test ends. */
AcrSnapshot *snapshot_of(const TestFile *files);
/* The same, but with the repository's objects removed, so that no file can be read. */
AcrSnapshot *snapshot_without_objects(const TestFile *files);
/* The index of the files; must succeed. */
AcrIndex *index_of(const TestFile *files);
/* The fake outliner. A source that begins with `!` fails with the rest of its line as the
 * reason. */
AcrOutliner fake_outliner(void);

/* "path:qualname" of the ids, separated by blanks; owned. Frees the array. */
char *names_of(const AcrIndex *index, GArray *ids);
/* The only symbol of that kind and qualified name; it must exist. */
/* The functions below handle the symbols of a built index, by id. */
gsize n_symbols(const AcrIndex *index);
guint32 symbol_of(const AcrIndex *index, AcrSymbolKind kind, const char *path, const char *qualname);

#define assert_names(index, ids, expected)                                                                             \
    do {                                                                                                               \
        g_autofree char *names_ = names_of(index, ids);                                                                \
        g_assert_cmpstr(names_, ==, expected);                                                                         \
    } while (0)

/* Runs this program as a peer that outlines; the second argument is a mode. */
#define PEER_OPTION "--peer"
int peer_main(const char *mode);
