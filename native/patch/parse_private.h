/* The state of the parser of an answer: its lines, the file names near a block, and the list of
 * edits. Each form of edit has its own parser; parse.c tries them one by one at each line outside
 * an edit. */
#pragma once

#include "patch/source_private.h"

#define ACR_PARSE_MAX_NAME 4096u /* maximum length of a file name in bytes */

typedef struct {
    gsize off, len; /* a range of bytes in the answer; for a line, the line end is excluded */
} AcrSpan;

/* The state of the parser. */
typedef struct {
    const char *s; /* borrowed; UTF-8 */
    gsize len;
    GPtrArray *edits; /* borrowed; array of AcrEdit */
    char *file;       /* owned; the last file named in a tag, valid until the next tag */
    char *near_file;  /* owned; the last file named by an edit of any form */
    gsize named_at;   /* offset after the tag that named `file`; 0 if there is none */
    AcrSpan above;    /* the last line before the current line that is neither blank nor a fence */
    AcrSpan fence;    /* the line that opened the current fence; empty outside a fence */
    /* the fence's first line, if it is the fence's only line so far; otherwise empty */
    AcrSpan named;
    guint fence_lines; /* number of lines of the fence so far */
    /* offset of the next tag that opens a part or names a file; `len` if there is none */
    gsize tag;
    gsize diff_end; /* offset after the last diff; 0 if there is none */
    AcrSpan unread; /* the first line that looks like a part of an edit but was not understood */
} AcrParse;

/* Adds an edit (taken). If there are more than ACR_PATCH_MAX_EDITS edits, keeps only one more edit,
 * with a complaint. */
void acr_parse_push(AcrParse *parse, AcrEdit *edit);
bool acr_parse_is_full(const AcrParse *parse);
/* Makes an edit of the given form, for the caller to fill and push; owned. */
AcrEdit *acr_parse_edit_new(AcrEditForm form, const char *file, gsize off, gsize end) ACR_MUST_USE;
/* Sets the two texts of an edit (both taken); if they are already set, adds another reading. */
void acr_edit_add_reading(AcrEdit *edit, char *original, char *patched);
/* Sets the reason why an edit cannot be used, unless the edit already has a reason. */
void acr_parse_complain(AcrEdit *edit, const char *text);
/* Returns the file that the current block is about, owned. The file is named in the line above the
 * block, in the fence's info string, in the sentence above (NULL if the sentence names several
 * files), or earlier. */
char *acr_parse_named_near(const AcrParse *parse) ACR_MUST_USE;
/* Remembers `file` as the last file named. */
void acr_parse_name(AcrParse *parse, const char *file);

/* ---- Lines and names of an answer ------------------------------------------------------------ */

static inline bool acr_is_eol(char c)
{
    return c == '\n' || c == '\r';
}
gsize acr_skip_blanks(const char *s, gsize at, gsize to);
/* Returns the end of the line that contains `from`. */
gsize acr_line_end(const char *s, gsize from, gsize to);
/* Returns the offset after one LF, CRLF or CR at `at`; `at` if there is none. */
gsize acr_after_eol(const char *s, gsize at, gsize to);
/* Returns the start of the next line, or `to`. */
gsize acr_next_line(const char *s, gsize from, gsize to);
/* Whether the line contains only a fence and its info string. `out_info` (may be NULL) receives the
 * start of the info string. */
bool acr_is_fence(const char *s, gsize len, gsize *out_info);
/* Whether a fence's info string says that the fence contains a diff. */
bool acr_is_diff_fence(const char *info, gsize len);
/* Returns the text between two marks, without the line end after the first mark, the blanks and
 * line end before the second mark, and a fence around the text. Owned. */
char *acr_part_text(const char *s, gsize from, gsize to) ACR_MUST_USE;
/* Returns the path in a line that contains nothing else (`a.py`:, ### a/b.py, File: a.py); owned;
 * NULL if there is none. */
char *acr_path_in_line(const char *s, gsize len) ACR_MUST_USE;
/* Returns a name without extension or folder that is alone in a line (Makefile, `LICENSE`:); owned;
 * NULL if there is none. */
char *acr_word_in_line(const char *s, gsize len) ACR_MUST_USE;
/* Returns the path in an info string (python a.py, python:a.py, python title="a.py"); owned; NULL
 * if there is none. */
char *acr_path_in_info(const char *s, gsize len) ACR_MUST_USE;

/* ---- Forms ----
 * Each function examines the line that begins at `off`. If an edit of the function's form begins at
 * that line, the function reads the edit and returns the offset after it; otherwise it returns
 * `off`. */
gsize acr_search_replace_read(AcrParse *parse, gsize off) ACR_MUST_USE;
gsize acr_diff_read(AcrParse *parse, gsize off) ACR_MUST_USE;
gsize acr_whole_file_read(AcrParse *parse, gsize off) ACR_MUST_USE;
/* Whether a diff begins at the line at `off`. */
bool acr_diff_begins_at(AcrParse *parse, gsize off);
/* Whether a line outside edits looks like a part of a diff, or like the end of a search/replace
 * block. */
bool acr_diff_has_line(const AcrParse *parse, gsize off, gsize end);
bool acr_search_has_line(const char *s, gsize len);
/* Returns the number of "<" in a line that begins a search/replace block; 0 for another line.
 * *out_rest is the offset after the word SEARCH. */
gsize acr_search_mark(const char *s, gsize len, gsize *out_rest);
