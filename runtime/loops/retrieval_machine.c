/*
 * The retrieval machine: select -> extract -> search -> analyse, round by round, until bug
 * locations are found. Each transition is a row of the table below; the two counters (invalid
 * extract answers, rounds) are applied after it.
 */
#include "loops/machines.h"

typedef struct {
    AcrRetrievalState state;
    AcrRetrievalEvent event;
    AcrRetrievalState next;
    AcrRetrievalAsk ask; /* where next is SELECT */
} Row;

#define S(name) ACR_RETRIEVAL_##name
#define ON(name) ACR_RETRIEVAL_ON_##name

static const Row rows[] = {
    {S(SELECT), ON(ANSWER), S(EXTRACT), 0},
    {S(SELECT), ON(SHORTENED), S(SELECT), ACR_ASK_AGAIN},
    {S(EXTRACT), ON(INVALID), S(EXTRACT), 0},
    {S(EXTRACT), ON(CALLS), S(SEARCH), 0},
    {S(EXTRACT), ON(LOCATIONS), S(LOCATE), 0},
    {S(EXTRACT), ON(SHORTENED), S(EXTRACT), 0},
    {S(SEARCH), ON(RESULTS), S(ANALYSE), 0},
    {S(ANALYSE), ON(ANSWER), S(SELECT), ACR_ASK_NEXT},
    {S(ANALYSE), ON(SHORTENED), S(ANALYSE), 0},
    {S(LOCATE), ON(FOUND), S(DONE), 0},
    {S(LOCATE), ON(NOT_FOUND), S(SELECT), ACR_ASK_NO_PLACE},
};

/* Rows that hold in each state that calls a model. */
static const Row model_rows[] = {
    {0, ON(NOT_SHORTENABLE), S(EXHAUSTED), 0},
    {0, ON(USED_UP), S(EXHAUSTED), 0},
};

/* Rows that hold in every state that is not an end. */
static const Row any_rows[] = {
    {0, ON(FAILED), S(FAILED), 0},
    {0, ON(CEILING), S(STOPPED), 0},
};

AcrRetrieval acr_retrieval_begin(guint max_rounds)
{
    return (AcrRetrieval){.state = max_rounds ? S(SELECT) : S(EXHAUSTED),
                          .ask = ACR_ASK_START,
                          .round = 1,
                          .max_rounds = max_rounds};
}

bool acr_retrieval_is_over(const AcrRetrieval *machine)
{
    return machine->state >= S(DONE);
}

static bool calls_model(AcrRetrievalState state)
{
    return state == S(SELECT) || state == S(EXTRACT) || state == S(ANALYSE);
}

static const Row *find_row(AcrRetrievalState state, AcrRetrievalEvent event)
{
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].state == state && rows[i].event == event)
            return &rows[i];
    for (guint i = 0; i < G_N_ELEMENTS(model_rows) && calls_model(state); i++)
        if (model_rows[i].event == event)
            return &model_rows[i];
    for (guint i = 0; i < G_N_ELEMENTS(any_rows); i++)
        if (any_rows[i].event == event)
            return &any_rows[i];
    return NULL;
}

/* A round begins: the last one allowed may not be passed. */
static void enter_select(AcrRetrieval *machine, AcrRetrievalAsk ask)
{
    if (machine->round >= machine->max_rounds) {
        machine->state = S(EXHAUSTED);
        return;
    }
    machine->state = S(SELECT);
    machine->ask = ask;
    machine->round++;
    machine->invalid = 0;
}

bool acr_retrieval_step(AcrRetrieval *machine, AcrRetrievalEvent event)
{
    const Row *row = acr_retrieval_is_over(machine) ? NULL : find_row(machine->state, event);
    if (!row)
        return false;
    if (event == ON(INVALID) && ++machine->invalid >= ACR_EXTRACT_TRIES)
        enter_select(machine, ACR_ASK_CHECK_CALLS);
    else if (event == ON(SHORTENED) && row->next == S(SELECT))
        machine->ask = row->ask; /* the same round goes on */
    else if (row->next == S(SELECT))
        enter_select(machine, row->ask);
    else
        machine->state = row->next;
    return true;
}

const char *acr_retrieval_state_name(AcrRetrievalState state)
{
    static const char *const names[ACR_RETRIEVAL_STATES] = {"select",    "extract", "search",
                                                            "analyse",   "locate",  "done",
                                                            "exhausted", "failed",  "stopped"};
    g_assert(state < ACR_RETRIEVAL_STATES);
    return names[state];
}
