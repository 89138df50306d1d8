/*
 * The note in which a batch says what it is doing: shared/live.json of its folder.
 */
#include "batch/batch_state.h"

#define NOTE "live.json"

char *acr_batch_note_path(const char *part)
{
    g_autofree char *shared = acr_batch_shared_dir(part);
    return g_build_filename(shared, NOTE, NULL);
}

static AcrJson *describe_running(const AcrBatchNote *note)
{
    AcrJson *running = acr_json_new_array();
    for (guint i = 0; i < note->instances->len; i++) {
        const AcrInstance *instance = note->instances->pdata[i];
        if (!note->task_begun_ms[i])
            continue;
        AcrJson *task = acr_json_new_object();
        acr_json_set_string(task, "task", instance->instance_id);
        acr_json_set_int(task, "begun_ms", note->task_begun_ms[i]);
        acr_json_append(running, task);
    }
    return running;
}

static AcrJson *describe_ceilings(const AcrRunSpec *spec)
{
    AcrJson *ceilings = acr_json_new_object();
    acr_json_set_int(ceilings, "cost_microusd",
                     spec->max_cost < 0 ? ACR_UNSET : acr_microusd(spec->max_cost));
    acr_json_set_int(ceilings, "tokens", spec->max_tokens_total);
    acr_json_set_int(ceilings, "ms", spec->max_ms);
    return ceilings;
}

void acr_batch_note_write(const AcrBatchNote *note)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    AcrJson *tasks = acr_json_new_array(), *pace = acr_json_new_object();
    for (guint i = 0; i < note->instances->len; i++) {
        const AcrInstance *instance = note->instances->pdata[i];
        acr_json_append(tasks, acr_json_new_string(instance->instance_id));
    }
    acr_json_set_int(pace, "tasks", note->pace.tasks);
    acr_json_set_int(pace, "ms", note->pace.ms);
    acr_json_set_int(pace, "microusd", note->pace.microusd);
    acr_json_set(json, "process", acr_live_process_to_json(note->begun_ms));
    acr_json_set_bool(json, "over", note->is_over);
    acr_json_set_string(json, "why", note->why);
    acr_json_set_int(json, "jobs", note->spec->tasks_at_once);
    acr_json_set_int(json, "next", note->next);
    acr_json_set(json, "running", describe_running(note));
    acr_json_set(json, "pace", pace);
    acr_json_set(json, "ceilings", describe_ceilings(note->spec));
    acr_json_set(json, "tasks", tasks);
    g_autofree char *name = acr_batch_note_path("");
    acr_live_write(note->spec->out, name, json);
}
