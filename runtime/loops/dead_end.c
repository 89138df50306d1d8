/* Decides when to give up a model; the header has the limits. When they were chosen, these rules
 * ended twelve of 210 recorded runs early, without harm: the patch writer's first answer, which is
 * still requested, was applicable in all twelve runs. */
#include "loops/dead_end.h"

#include <string.h>

#define SAME "the model gave the same answer three times"
#define CIRCLES "the model goes in circles: it alternates between the same two answers"

bool acr_dead_end_is_repetition(const char *why)
{
    return g_str_has_suffix(why, SAME) || g_str_has_suffix(why, CIRCLES);
}

static bool give_up_model(AcrDeadEnd *end, bool repeats, const char *why)
{
    end->why = why;
    end->repeats = repeats;
    return true;
}

void acr_dead_end_clear(AcrDeadEnd *end)
{
    g_clear_pointer(&end->seen, g_hash_table_unref);
    g_clear_pointer(&end->told, g_ptr_array_unref);
}

void acr_dead_end_stage(AcrDeadEnd *end)
{
    acr_dead_end_clear(end);
    end->empty = 0;
}

bool acr_dead_end_hear(AcrDeadEnd *end, const char *text)
{
    end->empty = text[strspn(text, " \t\r\n")] == '\0' ? end->empty + 1 : 0;
    return end->empty >= ACR_DEAD_END_EMPTY &&
           give_up_model(end, true, "the model gave three empty answers in a row");
}

/* Returns whether the last two texts of `kind` repeat the two texts before them. */
static bool goes_in_circles(const GPtrArray *told, char kind)
{
    const char *last[4];
    guint n = 0;
    for (guint i = told->len; i > 0 && n < 4; i--) {
        const char *text = told->pdata[i - 1];
        if (*text == kind)
            last[n++] = text;
    }
    return n == 4 && strcmp(last[0], last[2]) == 0 && strcmp(last[1], last[3]) == 0;
}

bool acr_dead_end_compare(AcrDeadEnd *end, char kind, const char *text)
{
    if (!end->seen) {
        end->seen = g_hash_table_new(g_str_hash, g_str_equal);
        end->told = g_ptr_array_new_with_free_func(g_free);
    }
    char *key = g_strdup_printf("%c%s", kind, text);
    g_ptr_array_add(end->told, key);
    guint times = GPOINTER_TO_UINT(g_hash_table_lookup(end->seen, key)) + 1;
    g_hash_table_replace(end->seen, key, GUINT_TO_POINTER(times));
    if (times >= ACR_DEAD_END_SAME)
        return give_up_model(end, true, SAME);
    return goes_in_circles(end->told, kind) && give_up_model(end, true, CIRCLES);
}

bool acr_dead_end_useless(AcrDeadEnd *end, guint weight)
{
    end->useless += weight;
    return end->useless >= ACR_DEAD_END_USELESS &&
           give_up_model(end, false,
                         "the model found no code: none of its calls found any, and none of its "
                         "answers could be parsed");
}

void acr_dead_end_useful(AcrDeadEnd *end)
{
    end->useless = 0;
}
