/*
 * A diff being read: its lines, and the headers that say what the part about one file does.
 */
#ifndef ACR_PATCH_PARSE_DIFF_PRIVATE_H
#define ACR_PATCH_PARSE_DIFF_PRIVATE_H

#include <string.h>

#include "patch/parse_private.h"

/* A diff being read. */
typedef struct {
    AcrParse *parse; /* borrowed */
    bool fenced;     /* the diff is in a fence, whose end is its end */
    bool envelope;   /* it begins with "*** Begin Patch", whose end the answer lacks */
    bool *whole;     /* borrowed; whether the last hunk has all lines that its header counts */
    gsize indent;    /* blanks in front of the fence, and so in front of each line */
} Diff;

typedef struct {
    const char *s; /* a view into the answer, behind the indent */
    gsize len;     /* without the line end */
    gsize next;    /* offset of the next line */
} Line;

/* What the headers say of a file. */
typedef struct {
    gsize off;             /* of the headers */
    char *name;            /* owned; as it is called now; NULL: not said */
    char *to;              /* owned; its new name, when it is renamed; else NULL */
    const char *complaint; /* static; why it cannot be used, or NULL */
    bool created, deleted, executable;
    bool has_mode; /* a file that exists becomes executable, or no longer is */
} FileHeader;
void acr_file_header_clear(FileHeader *file);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FileHeader, acr_file_header_clear)

static inline bool begins_with(const Line *line, const char *with)
{
    gsize n = strlen(with);
    return line->len >= n && memcmp(line->s, with, n) == 0;
}

/* Lines end in LF or CRLF: a lone CR is a character of the code. */
Line acr_diff_line_at(const Diff *diff, gsize off);
/* Reads the header lines at `at`, if there are any; returns the offset of the line behind them. */
gsize acr_diff_read_headers(const Diff *diff, gsize at, FileHeader *out) ACR_MUST_USE;
/* A line with which the part about one file begins. `in_hunk`: after lines of a hunk whose counts
 * do not say that it is complete. */
bool acr_diff_begins_file(const Diff *diff, const Line *line, bool in_hunk);

#endif
