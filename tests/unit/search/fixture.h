/* Helpers for the tests of search: a folder of files, its index by a small outliner that reads
 * plain Python by its indentation, and short forms of calls. */
#pragma once

#include "search/search.h"
#include "unit/cases.h"

typedef struct {
    char *dir; /* owned */
    AcrIndex *index;
    AcrSearch *search;
} Fixture;

/* Files as path, text, path, text …, NULL. */
void fixture_init(Fixture *fixture, const char *path, ...) G_GNUC_NULL_TERMINATED;
/* Uses the files in `dir` (taken). */
void fixture_init_dir(Fixture *fixture, char *dir);
/* Uses the commit HEAD of the git repository `dir` (taken). */
void fixture_init_commit(Fixture *fixture, char *dir);
void fixture_clear(Fixture *fixture);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, fixture_clear)
void fixture_write(const char *dir, const char *path, const void *data, gsize len);

/* Runs a call with these arguments; the answer is owned. */
AcrAnswer fixture_call(Fixture *fixture, const char *name, const char *first, const char *second, const char *third);
/* Expects exactly these places, one per line, as `file:start-end class func` (-: none). */
void fixture_assert_places(const AcrAnswer *answer, const char *expected);
char *fixture_places(const AcrAnswer *answer) ACR_MUST_USE;
/* Calls fixture_call and fixture_assert_places. */
void fixture_expect(Fixture *fixture, const char *name, const char *first, const char *second, const char *places);

/* Outlines plain Python: one statement per line, no strings over several lines; headers with
 * parentheses may span lines. */
bool mini_outline(void *ctx, const char *path, GBytes *source, GBytes **out_rows, GError **error);
