/* Fuzzes reading a journal: any bytes must be opened or refused. An opened journal must answer
 * record by record until it ends, diverges or is damaged; a request that equals the recorded one
 * must never diverge. */
#include "journal/journal.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The request in line `n` of the file; NULL if it cannot be parsed. */
static AcrJson *request_of(const char *text, gsize len, gsize n, char **out_event)
{
    const char *end = text + len;

    for (; n > 0 && text < end; n--) {
        const char *feed = memchr(text, '\n', (gsize)(end - text));

        text = feed ? feed + 1 : end;
    }
    const char *feed = text < end ? memchr(text, '\n', (gsize)(end - text)) : NULL;
    g_autoptr(AcrJson) line = acr_json_parse(text, (gsize)((feed ? feed : end) - text), NULL);
    const AcrJson *request = acr_json_get(line, "request");

    *out_event = g_strdup(acr_json_get_string(line, "event"));
    return request && *out_event ? acr_json_copy(request) : NULL;
}

static void ask_all(AcrJournal *journal, const char *text, gsize len)
{
    g_autoptr(AcrJson) other = acr_json_new_string("something else");

    for (gsize n = 0; !acr_journal_is_live(journal); n++) {
        g_autofree char *event = NULL;
        g_autoptr(AcrJson) request = request_of(text, len, n, &event);
        g_autoptr(GError) error = NULL;
        const AcrJson *answer = NULL;

        if (!request) { /* the line is damaged: any request must report that */
            g_assert_false(acr_journal_ask(journal, "event", other, &answer, &error));
            g_assert_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DAMAGED);
            return;
        }
        if (!acr_json_equal(request, other, "time") && !acr_journal_ask(journal, event, other, &answer, &error)) {
            g_assert_true(g_utf8_validate(error->message, -1, NULL));
            g_clear_error(&error);
        }
        if (!acr_journal_ask(journal, event, request, &answer, &error)) {
            g_assert_error(error, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DAMAGED);
            return;
        }
        g_assert_nonnull(answer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("journal", MFD_CLOEXEC);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autoptr(GError) error = NULL;

    g_assert_cmpint(write(fd, data, size), ==, (ssize_t)size);
    {
        g_autoptr(AcrJournal) journal = acr_journal_open(path, ACR_JOURNAL_READ, &error);

        g_assert_true((journal == NULL) == (error != NULL));
        if (journal)
            ask_all(journal, (const char *)data, size);
    }
    close(fd);
    return 0;
}
