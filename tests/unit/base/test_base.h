/* The groups of tests of base; each file adds its own. */
#pragma once

#include "base/base.h"
#include "unit/cases.h"

/* A new empty folder; owned (g_free). The test removes it with acr_dir_remove. */
char *test_folder(void);
void test_folder_remove(const char *path);

/* ---- Children (test_spawn.c) ---- */

/* Runs a shell script, or spawn.argv if it is set; the start must succeed. */
void spawn_ok(AcrSpawn spawn, const char *script, AcrSpawnResult *out);
void assert_bytes(GBytes *bytes, const char *text);
/* Whether the process whose id is in the file has ended; waits briefly for its end. */
bool is_gone(const char *pid_file);
