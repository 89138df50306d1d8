#pragma once

#include <string.h>

#include "patch/parse_private.h"

/* The state of a diff parser: its lines, and whether the diff is in a fence or an envelope. */
typedef struct {
    AcrParse *parse; /* borrowed */
    bool fenced;     /* the diff is in a fence, and ends with the fence */
    /* the diff begins with "*** Begin Patch", and the answer lacks "*** End Patch" */
    bool envelope;
    /* borrowed; set to whether the last hunk has as many lines as its header states */
    bool *whole;
    gsize indent; /* number of blanks before the fence, and therefore before each line */
} Diff;

typedef struct {
    const char *s; /* the line after the indent; a view into the answer */
    gsize len;     /* length without the line end */
    gsize next;    /* offset of the next line */
} Line;

/* The facts that the headers of a diff state about a file. */
typedef struct {
    gsize off;             /* offset of the headers in the answer */
    char *name;            /* owned; the current name; NULL if unknown */
    char *to;              /* owned; the new name of a renamed file; otherwise NULL */
    const char *complaint; /* static; why the headers cannot be used; otherwise NULL */
    bool created, deleted, executable;
    bool has_mode; /* an existing file becomes executable, or is no longer executable */
} FileHeader;
void acr_file_header_clear(FileHeader *file);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FileHeader, acr_file_header_clear)

static inline bool begins_with(const Line *line, const char *with)
{
    gsize n = strlen(with);
    return line->len >= n && memcmp(line->s, with, n) == 0;
}

/* Returns the line at `off`. Lines end in LF or CRLF; a lone CR is a character of the code. */
Line acr_diff_line_at(const Diff *diff, gsize off);
/* Reads the header lines at `at`, if there are any. Returns the offset of the line after the
 * headers. */
gsize acr_diff_read_headers(const Diff *diff, gsize at, FileHeader *out) ACR_MUST_USE;
/* Whether the line begins the diff of a file. `in_hunk` means that the line follows a hunk that
 * may be incomplete. */
bool acr_diff_begins_file(const Diff *diff, const Line *line, bool in_hunk);
