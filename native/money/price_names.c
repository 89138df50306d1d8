/* Finds the names under which a model's price may be listed. A price list has one row for "gpt-4o",
 * and another for a dated version only if its price differs. Clouds put a region before a name and
 * a version after it. The search first uses the unchanged name, and then removes regions and
 * versions one by one. tools/prices/update.py omits a row from the built-in table if this search
 * finds another row with the same price, so the tool and the search must use the same rules. */
#include "money/price_private.h"

#include <string.h>

#define MAX_TAKEN_OFF 4u

/* Returns the provider without an API's suffix: "openai-responses" -> "openai"; owned. */
char *acr_price_family(const char *provider, gsize len)
{
    static const char *const families[] = {"openai", "azure", "anthropic", "bedrock", "gemini"};
    for (gsize i = 0; i < G_N_ELEMENTS(families); i++) {
        gsize n = strlen(families[i]);
        if (len > n && strncmp(provider, families[i], n) == 0 && strchr("-_", provider[n]))
            return g_strdup(families[i]);
    }
    return g_strndup(provider, len);
}

/* Returns the length of the text before an end that matches the pattern; 0 if no end matches. In
 * the pattern, "d" is a digit and "*" any text without a slash. */
static gsize without_end(const char *text, const char *pattern)
{
    gsize len = strlen(text), n = strlen(pattern);
    if (pattern[n - 1] == '*') {
        const char *at = strrchr(text, pattern[0]);
        return at && !strchr(at, '/') ? (gsize)(at - text) : 0;
    }
    if (n >= len)
        return 0;
    for (gsize i = 0; i < n; i++) {
        char c = text[len - n + i];
        if (pattern[i] == 'd' ? !g_ascii_isdigit(c) : c != pattern[i])
            return 0;
    }
    return len - n;
}

/* Returns the name without the date or version at its end, owned; NULL if there is none. */
static char *shorter(const char *name)
{
    static const char *const ends[] = {"@*",     "-dddd-dd-dd", "-dddddddd", "-dddd",
                                       "-dd-dd", "-00d",        "-latest",   "-vd:d",
                                       "-vd",    "-vd:d:ddk",   "-vd:d:dddk"};
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
        gsize len = without_end(name, ends[i]);
        if (len > 0)
            return g_strndup(name, len);
    }
    return NULL;
}

static void add_with_shorter_ones(GPtrArray *spellings, const char *name)
{
    char *next = g_strdup(name);
    for (guint i = 0; next && i <= MAX_TAKEN_OFF; i++) {
        g_ptr_array_add(spellings, next);
        next = shorter(next);
    }
    g_free(next);
}

/* Returns a Bedrock name without its region. */
static const char *without_region(const char *name)
{
    static const char *const regions[] = {"us.", "eu.", "apac.", "global.", "jp.",
                                          "au.", "ca.", "sa.",   "us-gov."};
    for (gsize i = 0; i < G_N_ELEMENTS(regions); i++)
        if (g_str_has_prefix(name, regions[i]))
            return name + strlen(regions[i]);
    return name;
}

GPtrArray *acr_price_spellings(const char *family, const char *name)
{
    GPtrArray *spellings = g_ptr_array_new_with_free_func(g_free);
    const char *resource = strrchr(name, '/'), *plain = name;
    if (strcmp(family, "bedrock") == 0) {
        if (g_str_has_prefix(name, "arn:") && resource)
            name = resource + 1;
        plain = without_region(name);
    }
    add_with_shorter_ones(spellings, name);
    if (plain != name)
        add_with_shorter_ones(spellings, plain);
    if (g_str_has_prefix(name, "ft:") && strchr(name + 3, ':'))
        g_ptr_array_add(spellings, g_strndup(name, (gsize)(strchr(name + 3, ':') - name)));
    return spellings;
}
