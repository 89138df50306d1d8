/*
 * Fuzzes the reader of Bedrock's dialect: whatever the events of a stream or a body hold, it is an
 * answer of valid text with sane usage, or a failure with a class and a bounded message, from which
 * may be learned without harm. An input that begins with 'F' is a line "NAME PAYLOAD" for each
 * frame, "!NAME PAYLOAD" for an exception, and the frames are made here, so that payloads are
 * reached; one that begins with a digit is a body under that hundred; all others are bytes of a
 * stream.
 */
#include "llm/llm_private.h"

#include <string.h>

#include "../unit/llm/frame.h"

#define MAX_CORRECTIONS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_usage(const AcrUsage *usage)
{
    const gint64 counters[] = {usage->input,      usage->cached, usage->written,
                               usage->written_1h, usage->output, usage->reasoning};

    for (gsize i = 0; i < G_N_ELEMENTS(counters); i++)
        g_assert_true(counters[i] >= -1 && counters[i] <= (gint64)1 << 53);
}

static void check_failure(const AcrFailure *failure)
{
    AcrDialect dialect = {.model = "m", .temperature = 0.5, .effort = "low"};
    g_autofree char *shown = acr_llm_public_text(failure->message, NULL, ACR_LLM_MAX_MESSAGE);
    int corrections = 0;

    g_assert_cmpint((int)failure->code, <, ACR_LLM_ERRORS);
    g_assert_cmpuint(strlen(failure->message), <, 4 * ACR_LLM_MAX_MESSAGE);
    g_assert_true(g_utf8_validate(shown, -1, NULL));
    while (acr_provider_bedrock.correct(&dialect, failure))
        g_assert_cmpint(++corrections, <=, MAX_CORRECTIONS);
}

static void read_all(int status, const char *data, gsize size, gsize piece)
{
    g_autoptr(AcrReader) reader = acr_reader_new(&acr_provider_bedrock, status, NULL);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;

    for (gsize at = 0; at < size; at += piece)
        if (!acr_reader_feed(reader, data + at, MIN(piece, size - at)))
            break;
    if (acr_reader_end(reader, NULL, &answer, &usage, &failure))
        g_assert_true(acr_utf8_is_text(answer.content, strlen(answer.content)));
    else
        check_failure(&failure);
    check_usage(&usage);
}

/* Frames of lines of text. */
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
        read_all(100 * (data[0] - '0'), (const char *)data + 1, size - 1, 64);
        return 0;
    }
    if (data[0] != 'F') {
        read_all(200, (const char *)data + 1, size - 1, 1 + data[0] % 64u);
        return 0;
    }
    bytes = frames_of(text);
    read_all(200, (const char *)bytes->data, bytes->len, 1 + size % 64);
    return 0;
}
