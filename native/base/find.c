/*
 * Bytes in bytes: memmem for needles of the lengths that people search for, several times faster
 * where the C library's hash of two bytes meets too often, which is in any source code. Two bytes
 * of the needle, those that are rarest in code, are compared at sixteen places at once; the rest
 * only where both fit. After Wojciech Muła, "SIMD-friendly algorithms for substring searching".
 */
#include "base/base_private.h"

#include <string.h>

#define LONGEST 64u /* bytes of a needle; comparing a longer one everywhere would not be linear */
#define BLOCK 32u   /* places looked at in one step: two vectors */

typedef guint8 Bytes __attribute__((vector_size(16)));
typedef guint64 Words __attribute__((vector_size(16)));

/* A needle and the places of its two bytes. */
typedef struct {
    const char *bytes;
    gsize len;
    gsize first, second;
} Needle;

/* Lower is rarer in source code. */
static gsize commonness(char c)
{
    static const char common[] = "=0gy.vb,h()udmfpcl_ionrsate ";
    const char *at = c ? strchr(common, c) : NULL;
    return at ? (gsize)(at - common) + 1 : 0;
}

static Needle needle_of(const char *bytes, gsize len)
{
    Needle needle = {bytes, len, 0, 1};
    for (gsize i = 1; i < len; i++) {
        if (commonness(bytes[i]) < commonness(bytes[needle.first])) {
            needle.second = needle.first;
            needle.first = i;
        } else if (i != needle.second && commonness(bytes[i]) < commonness(bytes[needle.second])) {
            needle.second = i;
        }
    }
    return needle;
}

static Bytes both_fit(const Needle *needle, const char *at, Bytes first, Bytes second)
{
    Bytes a, b;
    memcpy(&a, at + needle->first, sizeof a);
    memcpy(&b, at + needle->second, sizeof b);
    return (Bytes)(a == first) & (Bytes)(b == second);
}

/* The first place of [at, end) where the needle is; each has as many bytes behind it. */
static const char *find_slowly(const Needle *needle, const char *at, const char *end)
{
    for (; at < end; at++) {
        if (at[needle->first] == needle->bytes[needle->first] &&
            at[needle->second] == needle->bytes[needle->second] &&
            memcmp(at, needle->bytes, needle->len) == 0)
            return at;
    }
    return NULL;
}

static const char *find(const Needle *needle, const char *at, const char *end)
{
    Bytes first, second;
    memset(&first, needle->bytes[needle->first], sizeof first);
    memset(&second, needle->bytes[needle->second], sizeof second);
    for (; (gsize)(end - at) >= BLOCK; at += BLOCK) {
        Words fits = (Words)(both_fit(needle, at, first, second) |
                             both_fit(needle, at + BLOCK / 2, first, second));
        const char *found = fits[0] | fits[1] ? find_slowly(needle, at, at + BLOCK) : NULL;
        if (found)
            return found;
    }
    return find_slowly(needle, at, end);
}

const char *acr_bytes_find(const char *hay, gsize len, const char *bytes, gsize n)
{
    if (n == 0 || n > len)
        return n == 0 ? hay : NULL;
    if (n == 1)
        return memchr(hay, *bytes, len);
    if (n > LONGEST)
        return memmem(hay, len, bytes, n);
    Needle needle = needle_of(bytes, n);
    return find(&needle, hay, hay + (len - n + 1));
}
