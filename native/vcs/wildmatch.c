/* Git's wildcards as gitignore(5) defines them: "*" and "?" do not match slashes; "**" between
 * slashes matches any number of folders. fnmatch(3) matches each part of a path. The time is
 * bounded by the product of both lengths: if the rest after a "**" does not match, only the last
 * "**" is tried with more folders; earlier ones need no retry. */
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
    /* the positions after the last "**", where a retry begins */
    char *const *want_again = NULL, *const *part_again = NULL;
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
