/* Shows places in the form of a call's results, for calls added by extensions that return only
 * locations. */
#include "search/reply_private.h"

static bool refuse_places(GError **error, const char *path, const char *what)
{
    g_autofree char *shown = acr_search_shown(path);
    return acr_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL, "%s: '%s'", what,
                         shown);
}

static bool add_shown(AcrReply *reply, const AcrPlace *place, GError **error)
{
    AcrSearch *search = reply->search;
    gssize entry = acr_snapshot_find(search->snapshot, place->file);
    AcrContent *content;
    if (entry < 0)
        return refuse_places(error, place->file, "there is no such file");
    if (!acr_search_content(search, (gsize)entry, &content, error))
        return false;
    guint32 n = content ? acr_content_n_lines(content) : 0;
    if (place->start < 1 || place->start > n || place->end < place->start)
        return refuse_places(error, place->file, "there are no such lines in the file");
    AcrHit hit = {.entry = (gsize)entry, .symbol = -1, .count = 1, .view = ACR_VIEW_WHOLE};
    hit.start = place->start;
    hit.end = MIN(place->end, n);
    acr_hit_set_names(reply, &hit, hit.start);
    acr_reply_add(reply, &hit);
    return true;
}

bool acr_search_show(AcrSearch *search, const char *heading, const GPtrArray *places,
                     AcrAnswer *out, GError **error)
{
    g_auto(AcrReply) reply = {0};
    acr_reply_init(&reply, search);
    if (heading && *heading)
        acr_reply_note(&reply, "%s", heading);
    for (guint i = 0; i < places->len && i < ACR_SEARCH_MAX_PLACES; i++)
        if (!add_shown(&reply, places->pdata[i], error))
            return false;
    if (reply.hits->len)
        return acr_reply_finish(&reply, "place", "places", ACR_COLLAPSE_FILES, out, error);
    acr_reply_miss(&reply, g_strdup("Found nothing.\n"), out);
    return true;
}
