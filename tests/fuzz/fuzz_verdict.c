/* Fuzzes the verdict on an execution. The input is the exit code (one byte), a script, a NUL, and
 * the script's stderr. An execution may count as reproduced only if its last traceback names a line
 * of the script (and quotes it correctly, if it quotes one), or if a script that asserts reports
 * the failure at the end without a traceback. The reason must be valid text. */
#include "loops/loops.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_WHY 700u /* two shortened lines, and the text around them */

static void check_text(const char *text)
{
    g_assert_true(acr_utf8_is_text(text, strlen(text)));
    g_assert_cmpuint(strlen(text), <=, MAX_WHY);
}

/* Whether a frame names that line of the script, and quotes it correctly if it quotes one. */
static bool is_framed(char **said, guint number, const char *code)
{
    static const char frame[] = "reproducer.py\", line ";

    for (guint i = 0; said[i] && said[i + 1]; i++) {
        const char *at = strstr(said[i], frame);
        if (at && g_ascii_strtoull(at + strlen(frame), NULL, 10) == number &&
            (!g_str_has_prefix(said[i + 1], "    ") || strcmp(g_strstrip(said[i + 1]), code) == 0))
            return true;
    }
    return false;
}

/* The named line must be in the script, and stderr must name it. */
static void check_reproduced(const AcrTestVerdict *verdict, const char *script, const uint8_t *err, size_t len)
{
    g_auto(GStrv) lines = g_strsplit(script, "\n", -1);
    g_autofree char *said = acr_utf8_repair(err, len);

    g_assert_cmpuint(verdict->line, >=, 1);
    g_assert_cmpuint(verdict->line, <=, g_strv_length(lines));
    g_assert_nonnull(strstr(said, "AssertionError"));
    g_assert_nonnull(strstr(said, "Traceback (most recent call last):"));
    g_auto(GStrv) told = g_strsplit(said, "\n", -1);
    g_assert_true(is_framed(told, verdict->line, g_strstrip(lines[verdict->line - 1])));
}

/* A script that catches its AssertionError reports it and exits. */
static void check_told(const char *script, const uint8_t *err, size_t len)
{
    g_autofree char *said = acr_utf8_repair(err, len);
    g_auto(GStrv) lines = g_strsplit(said, "\n", -1);

    g_assert_nonnull(strstr(said, "AssertionError"));
    g_assert_true(strstr(script, "assert") || strstr(script, "raise AssertionError"));
    for (guint i = 0; lines[i]; i++)
        g_assert_cmpstr(g_strchomp(lines[i]), !=, "Traceback (most recent call last):");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const uint8_t *nul = memchr(data + 1, 0, size - 1);
    size_t script_len = nul ? (size_t)(nul - data) - 1 : 0;
    const uint8_t *err = nul ? nul + 1 : data + 1;
    size_t err_len = size - (size_t)(err - data);
    g_autofree char *script = acr_utf8_repair(data + 1, script_len);
    g_auto(AcrTestVerdict) verdict = {0};
    AcrExecuted executed = {.exit_code = data[0], .out = g_bytes_new_static("", 0), .err = g_bytes_new(err, err_len)};

    acr_test_judge(&executed, script, "/p", &verdict);
    check_text(verdict.why);
    for (guint i = 0; i < verdict.doubts->len; i++)
        check_text(verdict.doubts->pdata[i]);
    g_assert_true((verdict.result == ACR_TEST_PASSED) == (executed.exit_code == 0));
    g_assert_true(verdict.result == ACR_TEST_REPRODUCED || verdict.line == 0);
    if (verdict.line > 0)
        check_reproduced(&verdict, script, err, err_len);
    else if (verdict.result == ACR_TEST_REPRODUCED)
        check_told(script, err, err_len);
    acr_executed_clear(&executed);
    return 0;
}
