/* Finds a literal text in many files. For a text of up to LONGEST bytes, its two rarest bytes are
 * compared at BLOCK places in parallel; where both agree, the whole text is compared. For a longer
 * text, memmem is used, because its time does not grow with the length of the text. */
#include <string.h>

#include "search/search_private.h"

#define LONGEST 64u
#define BLOCK 16u

/* A vector of the compiler: `==` of two vectors gives a byte of ones for each pair of equal
 * bytes. */
typedef guint8 Block __attribute__((vector_size(BLOCK), aligned(1)));

struct AcrNeedle {
    char *text;
    gsize len, rare[2]; /* length of `text`, and the offsets of its two rarest bytes */
};

/* Returns the rank of `c` by frequency in Python code; 0 is the most frequent. */
static gsize rarity_of(char c)
{
    static const char frequent[] = " etasrniolfpdm_cu=,.()hgxbyv1\"'0";
    const char *at = memchr(frequent, c, sizeof frequent - 1);
    return at ? (gsize)(at - frequent) : sizeof frequent;
}

AcrNeedle *acr_needle_new(const char *text)
{
    AcrNeedle *needle = g_new0(AcrNeedle, 1);
    needle->text = g_strdup(text);
    needle->len = strlen(text);
    needle->rare[1] = MIN(needle->len, 1);
    for (gsize i = 1; i < needle->len; i++) {
        gsize rarity = rarity_of(text[i]);
        if (rarity > rarity_of(text[needle->rare[0]])) {
            needle->rare[1] = needle->rare[0];
            needle->rare[0] = i;
        } else if (rarity > rarity_of(text[needle->rare[1]])) {
            needle->rare[1] = i;
        }
    }
    return needle;
}

void acr_needle_free(AcrNeedle *needle)
{
    ACR_FREE(needle->text, needle);
}

gsize acr_needle_len(const AcrNeedle *needle)
{
    return needle->len;
}

/* Returns the first of the BLOCK places from `at` on at which the text occurs; NULL if there is
 * none. */
static const char *find_in_block(const AcrNeedle *needle, const char *at)
{
    for (guint i = 0; i < BLOCK; i++)
        if (at[i] == *needle->text && memcmp(at + i, needle->text, needle->len) == 0)
            return at + i;
    return NULL;
}

const char *acr_needle_find(const AcrNeedle *needle, const char *at, const char *end)
{
    gsize len = needle->len;
    if (len < 2 || len > LONGEST)
        return memmem(at, (gsize)(end - at), needle->text, len);
    const char *text = needle->text;
    gsize a = needle->rare[0], b = needle->rare[1];
    Block byte_a, byte_b;
    memset(&byte_a, text[a], BLOCK);
    memset(&byte_b, text[b], BLOCK);
    for (; (gsize)(end - at) >= len - 1 + BLOCK; at += BLOCK) {
        Block both = (Block)(*(const Block *)(at + a) == byte_a) &
                     (Block)(*(const Block *)(at + b) == byte_b);
        guint64 halves[BLOCK / sizeof(guint64)];
        memcpy(halves, &both, BLOCK);
        const char *found = halves[0] | halves[1] ? find_in_block(needle, at) : NULL;
        if (found)
            return found;
    }
    return memmem(at, (gsize)(end - at), text, len);
}
