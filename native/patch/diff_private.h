/*
 * Shared by diff_read.c (hunks) and diff_headers.c (what a diff says of a file).
 */
#ifndef ACR_PATCH_DIFF_PRIVATE_H
#define ACR_PATCH_DIFF_PRIVATE_H

#include "patch/parse_private.h"

/* A diff being read. */
typedef struct {
    AcrParse *parse; /* borrowed */
    bool fenced;     /* the diff is in a fence, whose end is its end */
    gsize indent;    /* blanks in front of the fence, and so in front of each line */
} AcrDiff;

typedef struct {
    const char *s; /* a view into the answer, behind the indent */
    gsize len;     /* without the line end */
    gsize next;    /* offset of the next line */
} AcrDiffLine;

AcrDiffLine acr_diff_line(const AcrDiff *diff, gsize off);
bool acr_diff_begins(const AcrDiffLine *line, const char *with);

/* What the headers say of a file. */
typedef struct {
    gsize off;             /* of the headers */
    char *name;            /* owned; as it is called now; NULL: not said */
    char *to;              /* owned; its new name, when it is renamed; else NULL */
    const char *complaint; /* static; why it cannot be used, or NULL */
    bool created, deleted, executable;
} AcrDiffFile;
void acr_diff_file_clear(AcrDiffFile *file);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrDiffFile, acr_diff_file_clear)

/* Reads the header lines at `at`, if there are any; returns the offset of the line behind them. */
gsize acr_diff_read_headers(const AcrDiff *diff, gsize at, AcrDiffFile *out) ACR_MUST_USE;

#endif
