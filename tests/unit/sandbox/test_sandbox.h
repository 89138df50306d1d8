/* The groups of tests of sandbox, and what they share: a temporary folder and files in it. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "sandbox/helper_run.h"
#include "sandbox/sandbox_private.h"
#include "unit/cases.h"

/* A temporary folder, removed when cleared. */
typedef struct {
    char *root;
} Box;
void box_init(Box *box);
void box_clear(Box *box);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Box, box_clear)

/* Defines a test with a temporary folder, `box`. */
#define BOX_TEST(group, name) TEST_IN(group, name, Box, box, box_init)

char *box_path(const Box *box, const char *name); /* owned */
/* Writes a file and creates its folders. */
void box_put(const Box *box, const char *name, const char *text, int mode);
void box_link(const Box *box, const char *target, const char *name);
char *box_get(const Box *box, const char *name); /* owned; NULL if the file does not exist */
bool box_has(const Box *box, const char *name);  /* a dangling link counts as existing */
void box_make(const Box *box, const char *name); /* a folder, with its parents */
/* The names in a folder, sorted and separated by blanks; owned. */
char *box_names(const Box *box, const char *name);
/* A snapshot of the folder. */
AcrSnapshot *box_snapshot(const Box *box, const char *name);
/* Runs a command to completion and returns its output, owned. The command must succeed. */
char *box_run(const Box *box, const char *const *argv);
