/* Implements the only function through which a run gets anything from outside. An AcrJournalPort
 * describes how one kind of event is encoded, performed and decoded; only this file decides whether
 * the answer comes from the journal or from outside. A live answer is decoded from its record as a
 * replay decodes it, so a run and its replay get the same values. */
#include <string.h>

#include "journal/journal_private.h"

/* ---- Kept answers ------------- */

typedef struct {
    void *out;
    GDestroyNotify clear;
} Known;

static void free_known(gpointer data)
{
    Known *known = data;
    known->clear(known->out);
    ACR_FREE(known->out, known);
}

static GHashTable *known_answers(AcrJournal *journal)
{
    GHashTable **known = acr_journal_known(journal);
    if (!*known)
        *known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_known);
    return *known;
}

static void clear_json(gpointer out)
{
    acr_json_free(*(AcrJson **)out);
}

/* ---- Recorded calls ---- */

static bool read_recorded_answer(const AcrJournalPort *port, void *call, const AcrJson *answer,
                                 void *out, GError **error)
{
    if (port->decode)
        return port->decode(call, answer, out, error);
    *(AcrJson **)out = acr_json_copy(answer);
    return true;
}

/* Makes the event happen. Returns the answer as it is recorded, owned; NULL if a failure ends the
 * run. */
static AcrJson *make_happen(const AcrJournalPort *port, void *call, AcrJson *time, GError **error)
{
    g_autoptr(GError) failure = NULL;
    gint64 start = g_get_monotonic_time();
    AcrJson *answer = port->live(call, time, &failure);
    if (!acr_json_get(time, "wall_ms"))
        acr_json_set_int(time, "wall_ms", (g_get_monotonic_time() - start) / 1000);
    if (answer)
        return answer;
    if (!port->is_fatal || port->is_fatal(call, &failure))
        return ACR_NULL(acr_pass_error(error, &failure));
    answer = acr_json_new_object();
    acr_json_set_string(answer, "error", failure->message);
    return answer;
}

static bool answer_request(AcrJournal *journal, const AcrJournalPort *port, void *call,
                           const AcrJson *request, void *out, GError **error)
{
    const AcrJson *recorded = NULL;
    g_autoptr(AcrJson) time = NULL, happened = NULL;
    if (journal && !acr_journal_ask(journal, port->event, request, &recorded, error))
        return false;
    if (recorded)
        return read_recorded_answer(port, call, recorded, out, error);
    time = acr_json_new_object();
    happened = make_happen(port, call, time, error);
    if (!happened || (journal && !acr_journal_append(journal, port->event, request, happened,
                                                     g_steal_pointer(&time), error)))
        return false;
    return read_recorded_answer(port, call, happened, out, error);
}

static AcrJson *make_request(const AcrJournalPort *port, void *call, GError **error)
{
    return port->encode ? port->encode(call, error) : acr_json_new_object();
}

bool acr_recorded_call(AcrJournal *journal, const AcrJournalPort *port, void *call, void *out,
                       GError **error)
{
    g_autoptr(AcrJson) request = make_request(port, call, error);
    return request && answer_request(journal, port, call, request, out, error);
}

const void *acr_recorded_once(AcrJournal *journal, const AcrJournalPort *port, void *call,
                              GError **error)
{
    g_autoptr(AcrJson) request = make_request(port, call, error);
    g_autofree char *text = request ? acr_json_print(request) : NULL;
    if (!text)
        return NULL;
    g_autofree char *key = g_strconcat(port->event, " ", text, NULL);
    const Known *known = g_hash_table_lookup(known_answers(journal), key);
    if (known)
        return known->out;
    g_autofree void *out = g_malloc0(port->out_size ? port->out_size : sizeof(AcrJson *));
    if (!answer_request(journal, port, call, request, out, error))
        return NULL;
    Known *kept = g_new(Known, 1);
    *kept = (Known){g_steal_pointer(&out), port->clear ? port->clear : clear_json};
    g_hash_table_insert(known_answers(journal), g_steal_pointer(&key), kept);
    return kept->out;
}
