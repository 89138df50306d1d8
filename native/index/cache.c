/*
 * The outline cache: rows of text by blob id and outliner version.
 */
#include "index/index_private.h"

struct AcrIndexCache {
    char *remark;
};

AcrIndexCache *acr_index_cache_open(const char *path, guint64 limit_bytes)
{
    AcrIndexCache *cache = g_new0(AcrIndexCache, 1);
    cache->remark = g_strdup_printf("the outline cache '%s' cannot be used: going without", path);
    return cache;
}

void acr_index_cache_free(AcrIndexCache *cache)
{
    if (!cache)
        return;
    g_free(cache->remark);
    g_free(cache);
}

GBytes *acr_index_cache_get(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                            const char *version)
{
    return NULL;
}

void acr_index_cache_put(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                         const char *version, GBytes *rows)
{
}

void acr_index_cache_flush(AcrIndexCache *cache)
{
}

const char *acr_index_cache_remark(const AcrIndexCache *cache)
{
    return cache->remark;
}

bool acr_index_cache_clear(const char *path, GError **error)
{
    return true;
}
