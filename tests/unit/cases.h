/* How to write a unit test: TEST("/vcs/snapshot", symlink_is_not_followed) { … } defines and
 * registers the test /vcs/snapshot/symlink_is_not_followed. Tests run in the order of file names,
 * and of their position in the file. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef void (*TestStep)(gpointer fixture, gconstpointer data);

typedef struct ListedTest {
    /* golden: a folder of tests/cases, each of whose *.txt files is a test */
    const char *path, *golden;
    gsize fixture_size;
    gconstpointer data;
    TestStep set_up, test, tear_down;
    struct ListedTest *next;
} ListedTest;

/* Registers a test; `added` must be static. */
void list_test(ListedTest *added);
/* Runs the registered tests, as g_test_run does. `main` calls it; only tests that need their own
 * `main` define one. */
int run_tests(int argc, char **argv);

#define LISTED_TEST(name, ...)                                                                                         \
    __attribute__((constructor)) static void list_##name(void)                                                         \
    {                                                                                                                  \
        static ListedTest listed = {__VA_ARGS__};                                                                      \
        list_test(&listed);                                                                                            \
    }

#define TEST(group, name)                                                                                              \
    static void test_##name(void);                                                                                     \
    LISTED_TEST(name, .path = group "/" #name, .test = (TestStep)(void (*)(void))test_##name)                          \
    static void test_##name(void)

/* The same with a fixture of type `Type`, which the test gets as `fixture`; `value`
 * becomes `arg`. */
#define TEST_WITH(group, name, Type, fixture, arg, value, begin, end)                                                  \
    static void test_##name(Type *fixture, gconstpointer arg);                                                         \
    LISTED_TEST(name, .path = group "/" #name, .fixture_size = sizeof(Type), .data = value, .set_up = (TestStep)begin, \
                .test = (TestStep)test_##name, .tear_down = (TestStep)end)                                             \
    static void test_##name(Type *fixture, gconstpointer arg)

/* The same with a value of type `Type`, which `init` initialises and the type's clear function
 * ends. The test gets a pointer to it, `made`. */
#define TEST_IN(group, name, Type, made, init)                                                                         \
    static void in_##name(Type *made);                                                                                 \
    TEST(group, name)                                                                                                  \
    {                                                                                                                  \
        g_auto(Type) value = {0};                                                                                      \
        init(&value);                                                                                                  \
        in_##name(&value);                                                                                             \
    }                                                                                                                  \
    static void in_##name(Type *made)

/* Defines a test GROUP/STEM for each file STEM.txt in a folder of tests/cases; `test_file` gets the
 * file's path. */
#define GOLDEN_TESTS(group, folder, test_file)                                                                         \
    LISTED_TEST(golden_files, .path = group, .golden = folder, .test = (TestStep)(void (*)(void))test_file)

/* ---- Assertions ---- */

/* Compares a text, which is freed afterwards, with `expected`. */
#define assert_text(owned, expected)                                                                                   \
    do {                                                                                                               \
        g_autofree char *text_ = owned;                                                                                \
        g_assert_cmpstr(text_, ==, expected);                                                                          \
    } while (0)
/* A call that gets &error must return true. */
#define assert_ok(call, error)                                                                                         \
    do {                                                                                                               \
        bool is_ok_ = call;                                                                                            \
        g_assert_no_error(error);                                                                                      \
        g_assert_true(is_ok_);                                                                                         \
    } while (0)
/* The result of a call that gets &error and must succeed. */
#define made(call, error)                                                                                              \
    ({                                                                                                                 \
        __auto_type made_ = call;                                                                                      \
        g_assert_no_error(error);                                                                                      \
        made_;                                                                                                         \
    })
/* A call that gets &error must return false or NULL, with that error, which is then cleared. */
#define assert_fails_with(call, error, domain, code)                                                                   \
    do {                                                                                                               \
        g_assert_true(!(call));                                                                                        \
        g_assert_error(error, domain, code);                                                                           \
        g_clear_error(&error);                                                                                         \
    } while (0)
