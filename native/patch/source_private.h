/* Declares the lines of a text, a source file with its decoded text, and file names. */
#pragma once

#include "patch/patch.h"

/* Maximum number of cells of one line alignment. If it is exceeded, only the equal lines at the
 * beginning and the end are aligned. */
#define ACR_PATCH_MAX_ALIGN_CELLS 4000000u

/* ---- Lines ----------------------------------------------------------------------------------- */

/* One line, a view into a text. `len` excludes the line end, `full` includes it. The line
 * consists of `lead` blanks, `core` bytes, and further blanks. */
typedef struct {
    const char *s;
    gsize len, full, lead, core;
    bool literal; /* a line of a quote that looks like an elision, but is a line of the file */
} AcrLine;

typedef struct {
    AcrLine *line; /* owned */
    gsize n;
} AcrLines;

/* Splits a file's text into lines, which are views into `text`. A final line end does not begin
 * another line. */
void acr_lines_of_file(const char *text, gsize len, AcrLines *out);
/* Splits a quote into lines, which are views into `text`: n line ends make n + 1 lines; the empty
 * text has none. */
void acr_lines_of_quote(const char *text, AcrLines *out);
void acr_lines_clear(AcrLines *lines);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLines, acr_lines_clear)
AcrLine acr_line_make(const char *s, gsize len, gsize full);

static inline bool acr_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f' || c == '\v';
}
/* Returns the width of the leading blanks in columns; a tab advances to the next multiple of
 * eight. */
gsize acr_line_width(const AcrLine *line);
/* Returns the smallest difference of indentation between lines, in columns; 8 if a line is indented
 * with a tab; 0 if there is no difference. */
gsize acr_lines_step(const AcrLines *lines);
#define ACR_DEFAULT_STEP 4u
static inline bool acr_line_is_blank(const AcrLine *line)
{
    return line->core == 0;
}
static inline bool acr_line_is_comment(const AcrLine *line)
{
    return line->core > 0 && line->s[line->lead] == '#';
}
static inline bool acr_line_is_code(const AcrLine *line)
{
    return line->core > 0 && line->s[line->lead] != '#';
}
/* Returns the last character of a line that is not a blank; NUL if there is none. */
static inline char acr_line_last(const AcrLine *line)
{
    return line->core > 0 ? line->s[line->lead + line->core - 1] : '\0';
}
typedef bool (*AcrSameLine)(const AcrLine *a, const AcrLine *b);
/* Compares two lines, ignoring blanks at their beginning and end. */
bool acr_line_same_core(const AcrLine *a, const AcrLine *b);
/* Compares two lines, ignoring blanks at their end. */
bool acr_line_same_trimmed(const AcrLine *a, const AcrLine *b);
bool acr_line_same_exact(const AcrLine *a, const AcrLine *b);

/* Pairs equal lines of `a` and `b` in order (longest common subsequence, ignoring blanks at line
 * ends): out[j] is the number in `a` of line j of `b`, or -1. `out` has room for b->n. O(a*b) up
 * to ACR_PATCH_MAX_ALIGN_CELLS. */
void acr_lines_align(const AcrLine *a, gsize na, const AcrLine *b, gsize nb, gssize *out);

/* ---- Source file ----------------------------------------------------------------------------- */

typedef struct {
    char *path;    /* owned */
    GBytes *bytes; /* owned */
    AcrText text;
    AcrLines lines; /* views into text.text */
} AcrSource;
/* Makes a source file; owned (acr_source_free). */
AcrSource *acr_source_new(const char *path, GBytes *bytes) ACR_MUST_USE;
void acr_source_free(AcrSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSource, acr_source_free)
/* Returns the line end to use for a new line at line `at` (0-based; may be the number of lines);
 * static. */
const char *acr_source_eol(const AcrSource *source, gsize at);

/* ---- File names ------------------------------------------------------------------------------ */

typedef struct AcrFileNames AcrFileNames;
/* Makes the table of a snapshot's file names; owned (acr_file_names_free). */
AcrFileNames *acr_file_names_new(AcrSnapshot *snapshot) ACR_MUST_USE;
void acr_file_names_free(AcrFileNames *names);
/* Resolves `name` to a path that equals or ends in `name` (in whole parts). If there is none, and
 * the first part of `name` is not a folder of the repository, tries again without the first part.
 * Otherwise, unless `may_be_new`, takes the only path with the same base name. Returns the path,
 * owned; NULL if there is none: then *out_near (owned, never NULL) lists similar paths, beginning
 * with the best. */
char *acr_file_names_resolve(const AcrFileNames *names, const char *name, bool may_be_new,
                             GPtrArray **out_near) ACR_MUST_USE;
/* Returns `name` without quotes, "./" and a final colon; owned. */
char *acr_file_name_clean(const char *name) ACR_MUST_USE;
/* Returns the path for a new file called `name`, owned: removes a prefix such as "a/" if the rest
 * lies in a folder of the repository. */
char *acr_file_names_make(const AcrFileNames *names, const char *name) ACR_MUST_USE;
/* Returns why a file with the clean name `name` may not be written, for the model; owned; NULL if
 * the file may be written. */
char *acr_file_name_refusal(const AcrFileNames *names, const AcrOverlay *overlay,
                            const char *name) ACR_MUST_USE;
bool acr_file_names_has_folder(const AcrFileNames *names, const char *folder);
