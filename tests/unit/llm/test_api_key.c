/* Tests of keys from commands and files: which are accepted or refused, and that no message shows
 * them. */
#include "test_llm.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <glib/gstdio.h>

#define SECRET "sk-0123456789abcdef"

static char *key_of_command(const char *command)
{
    AcrModelOptions options = {.key_command = command};
    g_autoptr(GError) error = NULL;
    char *key = NULL;
    assert_ok(acr_key_from_options(&options, &key, &error), error);
    return key;
}

/* The message of a refusal, whose class must be AUTH, and which must not contain the key. */
static char *refusal(const AcrModelOptions *options)
{
    g_autoptr(GError) error = NULL;
    char *key = NULL;
    g_assert_false(acr_key_from_options(options, &key, &error));
    g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH);
    g_assert_null(key);
    g_assert_null(strstr(error->message, "sk-0"));
    g_assert_null(strchr(error->message, '\n'));
    return g_strdup(error->message);
}

TEST("/llm/keys", neither_command_nor_file_is_no_key)
{
    AcrModelOptions options = {0};
    char *key = (char *)"";
    g_assert_true(acr_key_from_options(&options, &key, NULL));
    g_assert_null(key);
}

TEST("/llm/keys", a_command_and_a_file_together_are_refused)
{
    AcrModelOptions options = {.key_command = "true", .key_file = "/dev/null"};
    g_autoptr(GError) error = NULL;
    char *key = NULL;
    assert_fails_with(acr_key_from_options(&options, &key, &error), error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE);
}

TEST("/llm/keys", the_first_line_that_a_command_prints_is_the_key)
{
    static const char *const commands[] = {"printf " SECRET, "echo " SECRET, "printf '" SECRET "\\r\\n'",
                                           "printf '" SECRET "\\nmore\\n'; echo noise >&2",
                                           "x=" SECRET "; echo $x | cat"};
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        char *key = key_of_command(commands[i]);
        g_assert_cmpstr(key, ==, SECRET);
        acr_wipe(key);
    }
}

TEST("/llm/keys", a_command_that_gives_no_key_shows_nothing_of_it)
{
    static const struct {
        const char *command, *expected;
    } rows[] = {
        {"echo " SECRET " >&2; echo " SECRET "; exit 7", "the key command failed with exit code 7"},
        {"kill -9 $$ # " SECRET, "the key command was ended by signal 9"},
        {"true", "the key command printed nothing"},
        {"echo", "the output of the key command is empty"},
        {"echo " SECRET " " SECRET, "the output of the key command contains a character that is not allowed in a key"},
        {"printf 'sk-0\\000sk-0'", "the output of the key command contains a character that is not allowed in a key"},
        {"yes " SECRET, "the key command printed more text than a key may have"},
        {"yes " SECRET " >&2", "the key command printed more text than a key may have"},
        {"head -c 20000 /dev/zero | tr '\\000' s", "the key command printed more text than a key may have"},
        {"/no/such/" SECRET, "the key command failed with exit code 127"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        AcrModelOptions options = {.key_command = rows[i].command};
        assert_text(refusal(&options), rows[i].expected);
    }
}

TEST("/llm/keys", a_command_ends_with_an_interrupt)
{
    AcrInterrupt interrupt = {.signal = SIGINT};
    AcrModelOptions options = {.key_command = "sleep 60", .interrupt = &interrupt};
    g_autoptr(GError) error = NULL;
    char *key = NULL;
    assert_fails_with(acr_key_from_options(&options, &key, &error), error, ACR_LLM_ERROR, ACR_LLM_ERROR_INTERRUPTED);
}

TEST("/llm/keys", a_file_is_taken_only_from_its_owner_alone)
{
    g_autofree char *dir = g_dir_make_tmp("acr-keys-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "key", NULL);
    AcrModelOptions options = {.key_file = path};
    g_autofree char *absent = refusal(&options);
    char *key = NULL;
    g_assert_nonnull(strstr(absent, "cannot open the key file"));
    g_assert_true(g_file_set_contents(path, SECRET "\n", -1, NULL));
    for (int mode = 0; mode <= 0777; mode++) {
        if (mode & 0700)
            continue;
        g_assert_cmpint(g_chmod(path, 0600 | mode), ==, 0);
        if (mode == 0) {
            g_assert_true(acr_key_from_options(&options, &key, NULL));
            g_assert_cmpstr(key, ==, SECRET);
            acr_wipe(key);
        } else {
            g_autofree char *message = refusal(&options);
            g_assert_nonnull(strstr(message, "chmod 600"));
        }
    }
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

TEST("/llm/keys", what_is_no_key_file_is_refused)
{
    g_autofree char *dir = g_dir_make_tmp("acr-keys-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "key", NULL);
    g_autofree char *big = g_strnfill(ACR_KEY_MAX_BYTES + 1, 's');
    const char *const contents[] = {"", "\n" SECRET, SECRET " x", "sk-0\xc3\xa9", big};
    AcrModelOptions options = {.key_file = dir};
    g_autofree char *folder = refusal(&options);
    g_assert_nonnull(strstr(folder, "not a regular file"));
    options.key_file = path;
    for (gsize i = 0; i < G_N_ELEMENTS(contents); i++) {
        g_autofree char *message = NULL;
        g_assert_true(g_file_set_contents(path, contents[i], -1, NULL));
        g_assert_cmpint(g_chmod(path, 0600), ==, 0);
        message = refusal(&options);
        g_assert_true(g_str_has_prefix(message, "the key file '"));
    }
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    g_free(refusal(&options));
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}
