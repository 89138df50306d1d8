/* Shared by the tests of patch: repositories made from texts, a small outliner and a small referee
 * in place of Python's. */
#pragma once

#include "patch/patch.h"
#include "unit/cases.h"

/* A folder with files, and what is made from it. */
typedef struct {
    char *dir;
    AcrRepo *repo;
    AcrSnapshot *snapshot;
    AcrIndex *index;
} Fixture;

void fixture_init(Fixture *fixture);
void fixture_write(Fixture *fixture, const char *path, const void *data, gsize len);
void fixture_open(Fixture *fixture); /* after the last write */
void fixture_clear(Fixture *fixture);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, fixture_clear)
#define FIXTURE_TEST(group, name) TEST_IN(group, name, Fixture, fixture, fixture_init)

/* Compiles when brackets close and indentation is that of a block: deeper after a colon, else a
 * level that is open. Lint errors are lines that name `undefined_name` or are deeper than `# depth
 * N` allows. */
const AcrReferee *stub_referee(void);
/* A referee whose lint always fails. */
const AcrReferee *stub_referee_without_lint(void);
