/* Tests of comments in place of quoted code, one per line of a file: all comments that say that the
 * code stays must be refused; almost all that replace it on purpose must be applied. */
#include <string.h>

#include "support.h"

#define FOLDER ACR_SOURCE_DIR "/tests/cases/patch/placeholders/"
#define MAX_REFUSED 4u /* comments that replace code on purpose */

static const char source[] = "class Cart:\n"
                             "    def total(self):\n"
                             "        out = 0\n"
                             "        for i in self.items:\n"
                             "            out += i.price\n"
                             "        if self.rate:\n"
                             "            out *= 1 + self.rate\n"
                             "        log(\"sum\", out)\n"
                             "        return out\n";

/* Whether an edit that replaces the code after the first line by the comment is applied. */
static bool lands(const Fixture *fixture, const char *comment, const char *first)
{
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *answer =
        g_strdup_printf("<file>cart.py</file>\n<original>\n%s</original>\n<patched>\n"
                        "class Cart:\n    def total(self):\n        %s\n        %s\n        return "
                        "out\n</patched>\n",
                        source, first, comment);
    AcrPatchContext context = {.snapshot = fixture->snapshot};
    assert_ok(acr_patch_apply(&context, answer, strlen(answer), &result, &error), error);
    if (!result.diff)
        g_assert_nonnull(strstr(result.message, "These lines would be deleted: "));
    return result.diff != NULL;
}

/* The number of comments in a file that are applied; prints those with another result than
 * `wanted`. */
static guint count_landed(const char *name, bool wanted, guint *out_n)
{
    g_autofree char *path = g_strconcat(FOLDER, name, NULL);
    g_autofree char *text = NULL;
    g_auto(Fixture) fixture = {0};
    guint landed = 0;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    fixture_init(&fixture);
    fixture_write(&fixture, "cart.py", source, strlen(source));
    fixture_open(&fixture);
    *out_n = 0;
    for (guint i = 0; lines[i] && *lines[i]; i++) {
        bool any = lands(&fixture, lines[i], "out = Decimal(0)") || lands(&fixture, lines[i], "out = 0");
        if (any != wanted)
            g_test_message("%s: %s", any ? "lands" : "refused", lines[i]);
        landed += any;
        (*out_n)++;
    }
    return landed;
}

TEST("/patch/placeholders", comments_that_stand_for_code_delete_none)
{
    guint n = 0;
    g_assert_cmpuint(count_landed("stand_in.txt", false, &n), ==, 0);
    g_assert_cmpuint(n, ==, 116);
}

TEST("/patch/placeholders", comments_that_replace_code_on_purpose_land)
{
    guint n = 0, landed = count_landed("on_purpose.txt", true, &n);
    g_assert_cmpuint(landed + MAX_REFUSED, >=, n);
    g_assert_cmpuint(n, ==, 116);
}
