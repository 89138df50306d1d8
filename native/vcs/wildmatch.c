/*
 * Git's wildcards as gitignore(5) defines them: "*" and "?" do not match slashes; "**" between
 * slashes matches any number of folders. Each part of a path is matched by fnmatch(3), whose time
 * is bounded by the product of both lengths. Of several "**" only the last is retried at other
 * positions, as with the stars of a plain wildcard.
 */
#include <fnmatch.h>
#include <string.h>

#include "rules_private.h"

static bool is_any_folders(const char *part)
{
    gsize stars = strspn(part, "*");
    return stars >= 2 && part[stars] == '\0';
}

bool acr_vcs_wildmatch(const char *pattern, const char *text, bool ignore_case)
{
    g_auto(GStrv) wanted = g_strsplit(pattern, "/", -1), parts = g_strsplit(text, "/", -1);
    char *const *want = wanted, *const *part = parts;
    char *const *want_again = NULL, *const *part_again = NULL; /* positions after the last "**" */
    while (*part) {
        if (*want && is_any_folders(*want)) {
            if (!want[1])
                return true;
            want_again = ++want;
            part_again = part;
        } else if (*want && fnmatch(*want, *part, ignore_case ? FNM_CASEFOLD : 0) == 0) {
            want++;
            part++;
        } else if (want_again) {
            want = want_again;
            part = ++part_again;
        } else {
            return false;
        }
    }
    return !*want;
}
