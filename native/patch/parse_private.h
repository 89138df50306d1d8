/*
 * An answer being read: its lines, the names of files that stand near a block, and the list of its
 * edits. Each form of edit has its own reader; parse.c asks them in turn at each line that is not
 * inside an edit.
 */
#ifndef ACR_PATCH_PARSE_PRIVATE_H
#define ACR_PATCH_PARSE_PRIVATE_H

#include "patch/source_private.h"

#define ACR_PARSE_MAX_NAME 4096u /* bytes of a file name */

typedef struct {
    gsize off, len; /* bytes of the answer; a line is without its end */
} AcrSpan;

/* An answer being read. */
typedef struct {
    const char *s; /* borrowed; UTF-8 */
    gsize len;
    GPtrArray *edits;  /* borrowed; of AcrEdit */
    char *file;        /* owned; the last one named in a tag; counts until the next */
    char *near_file;   /* owned; the last one named by any form */
    gsize named_at;    /* behind the tag that named `file` last; 0: no such tag */
    AcrSpan above;     /* the last line that is neither blank nor a fence */
    AcrSpan fence;     /* the line that opened the fence around the line at work; empty outside */
    AcrSpan named;     /* the only line so far of the fence, or empty */
    guint fence_lines; /* that the fence has so far */
    gsize tag;         /* where the next tag that opens a part or names a file stands, or len */
    gsize diff_end;    /* behind the last diff that was read; 0: none was */
    AcrSpan unread;    /* the first line that looks like a part of an edit and was not read */
} AcrParse;

/* Adds an edit (taken) in order, up to ACR_PATCH_MAX_EDITS; one more is kept as a complaint. */
void acr_parse_push(AcrParse *parse, AcrEdit *edit);
bool acr_parse_is_full(const AcrParse *parse);
/* A new edit of that form, to be filled and pushed; owned. */
AcrEdit *acr_parse_edit_new(AcrEditForm form, const char *file, gsize off, gsize end) ACR_MUST_USE;
/* Sets the texts of an edit, or adds another reading of it; both taken. */
void acr_edit_add_reading(AcrEdit *edit, char *original, char *patched);
/* Sets why an edit cannot be used, unless that is known already. */
void acr_parse_complain(AcrEdit *edit, const char *text);
/* The file that a block at the line at work is about: named in the line above, in the fence's info
 * string, by the sentence above (where that names one; NULL where several), or before. Owned. */
char *acr_parse_named_near(const AcrParse *parse) ACR_MUST_USE;
void acr_parse_name(AcrParse *parse, const char *file); /* keeps `file` as the last one named */

/* ---- Lines and names of an answer ------------------------------------------------------------ */

static inline bool acr_is_eol(char c)
{
    return c == '\n' || c == '\r';
}
gsize acr_skip_blanks(const char *s, gsize at, gsize to);
gsize acr_line_end(const char *s, gsize from, gsize to);  /* of the line that holds `from` */
gsize acr_after_eol(const char *s, gsize at, gsize to);   /* past one LF, CRLF or CR, if any */
gsize acr_next_line(const char *s, gsize from, gsize to); /* where the next line begins, or `to` */
/* A line of nothing but a fence and its info string. out_info: where that begins; may be NULL. */
bool acr_is_fence(const char *s, gsize len, gsize *out_info);
/* Whether what follows a fence's marks says that a diff is in it. */
bool acr_is_diff_fence(const char *info, gsize len);
/* A part between two marks: without the line end behind the first, the blanks and line end in front
 * of the second, and a fence around all of it. Owned. */
char *acr_part_text(const char *s, gsize from, gsize to) ACR_MUST_USE;
/* The path that a line is about, if it says nothing else (`a.py`:, ### a/b.py, File: a.py). Owned;
 * NULL: none. */
char *acr_path_in_line(const char *s, gsize len) ACR_MUST_USE;
/* A name without extension or folder that is all a line says (Makefile, `LICENSE`:). Owned; NULL. */
char *acr_word_in_line(const char *s, gsize len) ACR_MUST_USE;
/* The path in an info string (python a.py, python:a.py, python title="a.py"). Owned; NULL: none. */
char *acr_path_in_info(const char *s, gsize len) ACR_MUST_USE;

/* ---- Forms -------------------------------------------------------------------------------------
 * Each looks at the line that begins at `off`. If an edit of the form begins there it is read, and
 * the result is the offset behind it; else the result is `off`.
 */
gsize acr_search_replace_read(AcrParse *parse, gsize off) ACR_MUST_USE;
gsize acr_diff_read(AcrParse *parse, gsize off) ACR_MUST_USE;
gsize acr_whole_file_read(AcrParse *parse, gsize off) ACR_MUST_USE;
/* Whether a diff begins at the line at `off`. */
bool acr_diff_begins_at(AcrParse *parse, gsize off);
/* Whether a line that begins no edit looks like a part of a diff, or ends a search/replace block. */
bool acr_diff_has_line(const AcrParse *parse, gsize off, gsize end);
bool acr_search_has_line(const char *s, gsize len);
/* How many marks begin a search/replace block in a line, 0: it begins none; *out_rest: where what
 * follows its word begins. */
gsize acr_search_mark(const char *s, gsize len, gsize *out_rest);

#endif
