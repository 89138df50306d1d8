/* What the tests of search share: a folder of files made on the spot, an index of it by a small
 * outliner that reads plain Python by its indentation, and shorter ways to call. */
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
/* The files that lie in `dir` (taken). */
void fixture_init_dir(Fixture *fixture, char *dir);
/* The commit HEAD of the git repository `dir` (taken). */
void fixture_init_commit(Fixture *fixture, char *dir);
void fixture_clear(Fixture *fixture);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, fixture_clear)
void fixture_write(const char *dir, const char *path, const void *data, gsize len);

/* Runs one call with its arguments; the answer is owned. */
AcrAnswer fixture_call(Fixture *fixture, const char *name, const char *first, const char *second,
                       const char *third);
/* Asserts that the places are exactly these, as `file:start-end class func` (- for none), joined by
 * line ends. */
void fixture_assert_places(const AcrAnswer *answer, const char *expected);
char *fixture_places(const AcrAnswer *answer) ACR_MUST_USE;
/* Same as fixture_call and fixture_assert_places. */
void fixture_expect(Fixture *fixture, const char *name, const char *first, const char *second,
                    const char *places);

/* Rows of plain Python: one statement a line, headers may go on over lines in parentheses, no
 * strings over lines. */
bool mini_outline(void *ctx, const char *path, GBytes *source, GBytes **out_rows, GError **error);
