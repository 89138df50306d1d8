/* Helpers for the tests of patch: repositories made from texts, and a small outliner and referee
 * instead of Python's. */
#pragma once

#include "patch/patch.h"
#include "unit/cases.h"

/* A folder with files, and the snapshot and index of these files. */
typedef struct {
    char *dir;
    AcrRepo *repo;
    AcrSnapshot *snapshot;
    AcrIndex *index;
} Fixture;

void fixture_init(Fixture *fixture);
void fixture_write(Fixture *fixture, const char *path, const void *data, gsize len);
void fixture_open(Fixture *fixture); /* call it after the last write */
void fixture_clear(Fixture *fixture);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, fixture_clear)
#define FIXTURE_TEST(group, name) TEST_IN(group, name, Fixture, fixture, fixture_init)

/* Accepts code if brackets close and each line has the indentation of its block: deeper after a
 * colon, otherwise that of an open block. Lint errors are lines that contain `undefined_name` or
 * are deeper than `# depth N` allows. */
const AcrReferee *stub_referee(void);
/* A referee whose lint always fails. */
const AcrReferee *stub_referee_without_lint(void);
