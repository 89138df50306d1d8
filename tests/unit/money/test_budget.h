/* Helpers for the tests of budgets and ledgers: a folder for each test, and calls that must succeed
 * or fail as expected. */
#pragma once

#include <glib/gstdio.h>
#include <string.h>

#include "money/ledger.h"

#define NONE ((AcrAmount){ACR_NO_CEILING, ACR_NO_CEILING})

typedef struct {
    char *dir, *path;
} Fixture;

static inline void set_up(Fixture *fixture, gconstpointer data)
{
    fixture->dir = g_dir_make_tmp("acr-budget-XXXXXX", NULL);
    fixture->path = g_build_filename(fixture->dir, "ledger.jsonl", NULL);
}

static inline void tear_down(Fixture *fixture, gconstpointer data)
{
    g_assert_true(acr_dir_remove(fixture->dir, NULL));
    g_free(fixture->dir);
    g_free(fixture->path);
}

static inline AcrBudget *budget_at(const char *path, gint64 pico, gint64 tokens)
{
    AcrBudget *budget = acr_budget_new();
    g_autoptr(GError) error = NULL;
    AcrAmount ceiling = {pico, tokens};

    g_assert_true(acr_budget_add(budget, path, "run", &ceiling, &error));
    g_assert_no_error(error);
    return budget;
}

static inline guint64 reserve(AcrBudget *budget, gint64 pico, gint64 tokens)
{
    AcrAmount amount = {pico, tokens};
    g_autoptr(GError) error = NULL;
    guint64 id = 0;

    g_assert_true(acr_budget_reserve(budget, &amount, "a \"note\"\n", &id, &error));
    g_assert_no_error(error);
    return id;
}

static inline void assert_refused(AcrBudget *budget, gint64 pico, gint64 tokens, const char *told)
{
    AcrAmount amount = {pico, tokens};
    g_autoptr(GError) error = NULL;
    guint64 id = 77;

    g_assert_false(acr_budget_reserve(budget, &amount, NULL, &id, &error));
    g_assert_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_CEILING);
    g_assert_nonnull(strstr(error->message, told));
    g_assert_cmpuint(id, ==, 77);
}

static inline void settle(AcrBudget *budget, guint64 id, gint64 pico, gint64 tokens)
{
    AcrAmount amount = {pico, tokens};
    g_autoptr(GError) error = NULL;

    g_assert_true(acr_budget_settle(budget, id, &amount, &error));
    g_assert_no_error(error);
}

static inline void assert_sums(AcrBudget *budget, gint64 spent, gint64 reserved)
{
    AcrAmount is_spent, is_reserved;
    g_autoptr(GError) error = NULL;

    g_assert_true(acr_budget_sums(budget, "run", &is_spent, &is_reserved, &error));
    g_assert_no_error(error);
    g_assert_cmpint(is_spent.pico, ==, spent);
    g_assert_cmpint(is_reserved.pico, ==, reserved);
}

static inline void write_text(const char *path, const char *text)
{
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static inline char *read_text(const char *path)
{
    char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

#define FILE_TEST(group, name) TEST_WITH(group, name, Fixture, fixture, data, NULL, set_up, tear_down)
