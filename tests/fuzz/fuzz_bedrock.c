/* Fuzzes the parser of Bedrock's responses: any stream or body must become an answer of valid text
 * with plausible usage, or a failure with a class and a bounded message, from which corrections can
 * safely be learned. An input that begins with 'F' has a line "NAME PAYLOAD" for each frame ("!NAME
 * PAYLOAD" for an exception), so that fuzzing reaches the payloads. An input that begins with a
 * digit is a body with a status of that hundred. All others are the bytes of a stream. */
#define MAX_CORRECTIONS 4
#define MAX_TOKENS ((gint64)1 << 53)

#include "reading.h"

#include "../unit/llm/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(int status, const void *data, gsize size, gsize piece)
{
    g_autofree char *outcome = outcome_of(&acr_provider_bedrock, status, data, size, piece);

    g_assert_nonnull(outcome);
}

/* Makes frames from lines of text. */
static GByteArray *frames_of(const char *text)
{
    GByteArray *bytes = g_byte_array_new();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (gsize i = 0; lines[i]; i++) {
        bool is_exception = lines[i][0] == '!';
        char *name = lines[i] + is_exception;
        char *blank = strchr(name, ' ');

        if (blank)
            *blank = '\0';
        if (strlen(name) < 256)
            frame_add(bytes, is_exception ? "exception" : "event", name, blank ? blank + 1 : "");
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = size > 0 ? g_strndup((const char *)data + 1, size - 1) : NULL;
    g_autoptr(GByteArray) bytes = NULL;

    if (!text)
        return 0;
    if (data[0] >= '1' && data[0] <= '5') {
        read_all(100 * (data[0] - '0'), data + 1, size - 1, 64);
        return 0;
    }
    if (data[0] != 'F') {
        read_all(200, data + 1, size - 1, 1 + data[0] % 64u);
        return 0;
    }
    bytes = frames_of(text);
    read_all(200, bytes->data, bytes->len, 1 + size % 64);
    return 0;
}
