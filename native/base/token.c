/* Makes random tokens that nobody can guess, and compares them. */
#include "base/base_private.h"

#include <string.h>
#include <sys/random.h>

#define TOKEN_BYTES 20u /* number of random bytes of a token: 160 bits */

char *acr_token_new(void)
{
    guint8 bytes[TOKEN_BYTES];
    GString *text = g_string_new(NULL);
    /* For so few bytes, getrandom never returns fewer bytes than requested. It waits only while the
     * machine boots. */
    ssize_t n = getrandom(bytes, sizeof bytes, 0);
    g_assert(n == sizeof bytes);
    for (gsize i = 0; i < sizeof bytes; i++)
        g_string_append_printf(text, "%02x", bytes[i]);
    return g_string_free(text, FALSE);
}

bool acr_token_equal(const char *token, const char *given)
{
    gsize len = strlen(token);
    volatile guint8 differences = 0;
    if (!given || strlen(given) != len)
        return false;
    for (gsize i = 0; i < len; i++)
        differences |= (guint8)(token[i] ^ given[i]);
    return differences == 0;
}
