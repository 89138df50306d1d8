/* The groups of tests of base; each file adds its own. */
#ifndef ACR_TEST_BASE_H
#define ACR_TEST_BASE_H

#include "base/base.h"

void add_json_tests(void);
void add_text_tests(void);
void add_file_tests(void);
void add_spawn_tests(void);

/* A new empty folder; owned (g_free). The test removes it with acr_dir_remove. */
char *test_folder(void);
void test_folder_remove(const char *path);

#endif
