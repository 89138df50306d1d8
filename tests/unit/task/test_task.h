/* What the tests of task share: a temporary folder for each test, and the files' entry points. */
#pragma once

#include "task/run_folder.h"
#include "task/recorded.h"
#include "unit/cases.h"

typedef struct {
    char *dir; /* owned; a new folder */
} Place;

void place_set_up(Place *place, gconstpointer data);
void place_tear_down(Place *place, gconstpointer data);
/* A path in the folder; owned. */
char *place_path(const Place *place, const char *name);
/* Writes a file in the folder, and creates the file's parent folders. */
void place_write(const Place *place, const char *name, const char *text);
/* The text of a file in the folder; owned. */
char *place_read(const Place *place, const char *name);

#define PLACE_TEST(group, name) TEST_WITH(group, name, Place, place, data, NULL, place_set_up, place_tear_down)
