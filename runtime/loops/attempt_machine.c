/*
 * The attempt machine: guard -> reproducer -> retrieval -> patch -> review, or without a reproducer
 * validation -> select. A step that cannot be done says so and the next begins. Attempts start
 * afresh.
 */
#include "loops/machines.h"

typedef struct {
    AcrAttemptState state;
    AcrAttemptEvent event;
    AcrAttemptState next;
} Row;

#define S(name) ACR_ATTEMPT_##name
#define ON(name) ACR_ATTEMPT_ON_##name

static const Row rows[] = {
    {S(GUARD), ON(OK), S(REPRODUCE)},
    {S(GUARD), ON(UNAVAILABLE), S(RETRIEVE)},
    {S(REPRODUCE), ON(OK), S(RETRIEVE)},
    {S(REPRODUCE), ON(UNAVAILABLE), S(RETRIEVE)},
    {S(RETRIEVE), ON(OK), S(PATCH)},
    {S(PATCH), ON(OK), S(REVIEW)}, /* VALIDATE without a reproducer */
    {S(PATCH), ON(REFUSED), S(PATCH)},
    {S(PATCH), ON(USED_UP), S(SELECT)},
    {S(REVIEW), ON(OK), S(SELECT)}, /* it validates what it approves */
    {S(REVIEW), ON(UNAVAILABLE), S(VALIDATE)},
    {S(REVIEW), ON(REFUSED), S(SELECT)},
    {S(VALIDATE), ON(OK), S(SELECT)},
    {S(VALIDATE), ON(UNAVAILABLE), S(SELECT)},
    {S(VALIDATE), ON(REFUSED), S(PATCH)},
    {S(SELECT), ON(OK), S(DONE)},
    {S(SELECT), ON(REFUSED), S(GUARD)}, /* DONE after the last attempt */
};

AcrAttempt acr_attempt_begin(guint max_attempts, guint max_tries)
{
    return (AcrAttempt){.state = max_attempts ? S(GUARD) : S(DONE),
                        .max_attempts = max_attempts,
                        .max_tries = max_tries};
}

bool acr_attempt_is_over(const AcrAttempt *machine)
{
    return machine->state >= S(DONE);
}

/* One more try of the patch writer, or the end of the attempt when none is left. */
static void enter_patch(AcrAttempt *machine)
{
    if (machine->tries >= machine->max_tries) {
        machine->state = S(SELECT);
    } else {
        machine->state = S(PATCH);
        machine->tries++;
    }
}

static void enter_next_attempt(AcrAttempt *machine)
{
    if (machine->attempt + 1 >= machine->max_attempts) {
        machine->state = S(DONE);
        return;
    }
    machine->state = S(GUARD);
    machine->attempt++;
    machine->tries = 0;
    machine->reproducer = false;
}

static bool next_state(AcrAttemptState state, AcrAttemptEvent event, AcrAttemptState *out)
{
    if (event == ON(FAILED) || event == ON(CEILING)) {
        *out = event == ON(FAILED) ? S(FAILED) : S(STOPPED);
        return true;
    }
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].state == state && rows[i].event == event) {
            *out = rows[i].next;
            return true;
        }
    }
    return false;
}

bool acr_attempt_step(AcrAttempt *machine, AcrAttemptEvent event)
{
    AcrAttemptState next;
    if (acr_attempt_is_over(machine) || !next_state(machine->state, event, &next))
        return false;
    if (machine->state == S(REPRODUCE))
        machine->reproducer = event == ON(OK);
    else if (machine->state == S(REVIEW) && event == ON(UNAVAILABLE))
        machine->reproducer = false; /* a patch that is written again is only validated */
    if (next == S(PATCH))
        enter_patch(machine);
    else if (next == S(GUARD))
        enter_next_attempt(machine);
    else if (next == S(REVIEW) && !machine->reproducer)
        machine->state = S(VALIDATE);
    else
        machine->state = next;
    return true;
}

const char *acr_attempt_state_name(AcrAttemptState state)
{
    static const char *const names[ACR_ATTEMPT_STATES] = {
        "guard",    "reproduce", "retrieve", "patch",  "review",
        "validate", "select",    "done",     "failed", "stopped"};
    g_assert(state < ACR_ATTEMPT_STATES);
    return names[state];
}
