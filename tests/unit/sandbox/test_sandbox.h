/* The groups of tests of sandbox, and what they share: a folder of their own, files in it. */
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

/* A test in a temporary folder, `box`. */
#define BOX_TEST(group, name) TEST_IN(group, name, Box, box, box_init)

char *box_path(const Box *box, const char *name); /* owned */
/* Writes a file, making its folders. */
void box_put(const Box *box, const char *name, const char *text, int mode);
void box_link(const Box *box, const char *target, const char *name);
char *box_get(const Box *box, const char *name); /* owned; NULL: there is no such file */
bool box_has(const Box *box, const char *name);  /* a link that leads nowhere counts */
void box_make(const Box *box, const char *name); /* a folder, with its parents */
/* Names in a folder, sorted, with blanks between them; owned. */
char *box_names(const Box *box, const char *name);
/* The folder as a snapshot. */
AcrSnapshot *box_snapshot(const Box *box, const char *name);
/* Runs a command to its end; its output, owned. It must succeed. */
char *box_run(const Box *box, const char *const *argv);
