#include "llm/llm_private.h"
#include <string.h>
struct AcrBudget {
    gint64 d;
};
AcrBudget *acr_budget_new(void)
{
    return g_new0(AcrBudget, 1);
}
void acr_budget_free(AcrBudget *b)
{
    g_free(b);
}
void acr_budget_set_deadline(AcrBudget *b, gint64 d, const char *s)
{
    b->d = d;
}
gint64 acr_budget_deadline(const AcrBudget *b)
{
    return b->d;
}
bool acr_budget_is_bounded(const AcrBudget *b)
{
    return false;
}
bool acr_budget_left(AcrBudget *b, AcrAmount *o, GError **e)
{
    *o = (AcrAmount){G_MAXINT64, G_MAXINT64};
    return true;
}
bool acr_budget_reserve(AcrBudget *b, const AcrAmount *a, const char *n, guint64 *i, GError **e)
{
    *i = 1;
    return true;
}
bool acr_budget_settle(AcrBudget *b, guint64 i, const AcrAmount *a, GError **e)
{
    return true;
}
bool acr_budget_add(AcrBudget *budget, const char *path, const char *scope,
                    const AcrAmount *ceiling, GError **error)
{
    return true;
}
