/* Real repositories for the tests of vcs, made with the git command in a temporary folder. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/base.h"
#include "vcs/vcs.h"
#include "unit/cases.h"

/* A temporary folder, removed when cleared. */
typedef struct {
    char *root;
} Sandbox;

void sandbox_init(Sandbox *sandbox);
void sandbox_clear(Sandbox *sandbox);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sandbox, sandbox_clear)

/* Defines a test with a temporary folder, `box`. */
#define BOX_TEST(group, name) TEST_IN(group, name, Sandbox, box, sandbox_init)

char *sandbox_path(const Sandbox *sandbox, const char *name); /* owned */
/* Runs git in `dir` (below the root; "" is the root) with arguments split at blanks. git must
 * succeed. Returns its output; owned. */
char *git_output(const Sandbox *sandbox, const char *dir, const char *arguments);
void git(const Sandbox *sandbox, const char *dir, const char *arguments);
/* Runs a command with input; returns its exit code. */
int run_in(const Sandbox *sandbox, const char *dir, const char *const *argv, GBytes *input, GBytes **out_stdout);
/* Makes a repository that has an identity and converts no line endings. */
void make_repo(const Sandbox *sandbox, const char *dir);
void commit_all(const Sandbox *sandbox, const char *dir);
/* Adds a path to the index whose blob has one byte more than ACR_VCS_MAX_FILE_BYTES by its header,
 * but no content, because git would compress it for a second. */
void stage_large_blob(const Sandbox *sandbox, const char *dir, const char *path);
/* Writes a file and creates its folders. */
void put_bytes(const Sandbox *sandbox, const char *path, const void *data, gsize len);
void put(const Sandbox *sandbox, const char *path, const char *text);
char *get(const Sandbox *sandbox, const char *path); /* owned; NULL if there is none */

AcrRepo *open_ok(const Sandbox *sandbox, const char *dir);
AcrSnapshot *commit_ok(const Sandbox *sandbox, const char *dir, const char *rev);
AcrSnapshot *worktree_ok(const Sandbox *sandbox, const char *dir);
/* "mode path" lines of all entries, non-printing bytes as \xNN; owned. */
char *listing(const AcrSnapshot *snapshot);
/* owned, NUL-terminated; the path must exist */
char *content(AcrSnapshot *snapshot, const char *path);
GBytes *bytes_of(const char *text); /* owned */
void write_ok(AcrOverlay *overlay, const char *path, const char *text);

/* A digest of the path, mode, times, size and content of every file below `dir`. Owned. */
char *state_of(const Sandbox *sandbox, const char *dir);
