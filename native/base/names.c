/* Finds the name that a person may have meant by a mistyped one. */
#include "base/base.h"

#include <string.h>

/* Returns the number of letters that the names have in common, in any order. Each other letter of
 * the longer name costs an edit. */
static gsize letters_in_common(const char *a, gsize n, const char *b, gsize m)
{
    guint8 left[256] = {0};
    gsize common = 0;
    for (gsize i = 0; i < n; i++)
        left[(guchar)a[i]]++;
    for (gsize i = 0; i < m; i++)
        if (left[(guchar)b[i]]) {
            left[(guchar)b[i]]--;
            common++;
        }
    return common;
}

guint acr_edit_distance(const char *a, gsize n, const char *b, gsize m, guint swap, guint max)
{
    guint row[ACR_NAME_MAX + 1], above[ACR_NAME_MAX + 1] = {0};
    if (MAX(n, m) - letters_in_common(a, n, b, m) > max)
        return ACR_NAME_FAR;
    for (gsize j = 0; j <= m; j++)
        row[j] = (guint)j;
    for (gsize i = 1; i <= n; i++) {
        guint diagonal = row[0], swapped = 0, least = (guint)i;
        row[0] = (guint)i;
        for (gsize j = 1; j <= m; j++) {
            guint up = row[j];
            guint best = MIN(MIN(up, row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, swapped + swap);
            swapped = above[j - 1]; /* for the next j: the cell two rows up and two columns left */
            above[j - 1] = diagonal;
            diagonal = up;
            row[j] = best;
            least = MIN(least, best);
        }
        if (least > max)
            return ACR_NAME_FAR;
    }
    return row[m] <= max ? row[m] : ACR_NAME_FAR;
}

const char *acr_nearest_name(const char *word, const char *const *names)
{
    gsize n = strlen(word);
    const char *nearest = NULL;
    guint least = n > ACR_NAME_MAX ? 0 : ACR_NAME_FAR; /* a longer word is similar to no name */
    for (; *names && *word; names++) {
        gsize m = strnlen(*names, ACR_NAME_MAX);
        guint edits = g_str_has_prefix(*names, word)
                          ? 1
                          : acr_edit_distance(word, n, *names, m, 1, (guint)(MIN(n, m) + 2) / 3);
        bool has_others = n != m || letters_in_common(word, n, *names, m) < n;
        edits = MIN(edits * 2 + has_others, ACR_NAME_FAR);
        if (edits < least) {
            nearest = *names;
            least = edits;
        }
    }
    return nearest;
}

int acr_compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
