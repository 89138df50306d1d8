/*
 * The notes of those who work, and how others read them. A run's is removed when it ends in order, so one that
 * is there with its process gone is of a run that was killed.
 */
#include "task/live.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NOTE "live.json"
#define MAX_STAGE 60u       /* bytes of a stage that are believed */
#define MOST_MS (1ll << 45) /* of a time that is believed, since 1970 */

static gint64 time_of(const AcrJson *json, const char *key)
{
    gint64 ms = acr_json_get_int(json, key, 0);
    return CLAMP(ms, 0, MOST_MS);
}

gint64 acr_live_now_ms(void)
{
    return g_get_real_time() / 1000;
}

/* ---- Whose it is ---- */

AcrJson *acr_live_process_to_json(gint64 begun_ms)
{
    AcrOwner self;
    AcrJson *json = acr_json_new_object();
    acr_owner_self(&self);
    acr_json_set_int(json, "pid", self.pid);
    acr_json_set_int(json, "start", self.start);
    acr_json_set_string(json, "boot", self.boot);
    acr_json_set_string(json, "host", g_get_host_name());
    acr_json_set_int(json, "begun_ms", begun_ms);
    return json;
}

void acr_live_process_from_json(const AcrJson *json, AcrLiveProcess *out)
{
    const char *boot = acr_json_get_string(json, "boot"), *host = acr_json_get_string(json, "host");
    AcrOwner self, owner = {.pid = acr_json_get_int(json, "pid", 0),
                            .start = acr_json_get_int(json, "start", 0)};
    *out = (AcrLiveProcess){.pid = owner.pid, .begun_ms = time_of(json, "begun_ms")};
    if (!boot || !host)
        return;
    acr_owner_self(&self);
    g_strlcpy(owner.boot, boot, sizeof owner.boot);
    g_strlcpy(out->host, host, sizeof out->host);
    g_autofree char *whole = acr_utf8_repair(out->host, strlen(out->host));
    g_strlcpy(out->host, whole, sizeof out->host);
    out->state = acr_owner_is_alive(&owner, &self)      ? ACR_LIVE_RUNS
                 : strcmp(host, g_get_host_name()) == 0 ? ACR_LIVE_GONE
                                                        : ACR_LIVE_ELSEWHERE;
}

/* ---- Notes ---- */

void acr_live_write(const char *top, const char *name, const AcrJson *note)
{
    g_autofree char *text = acr_json_print(note), *leaf = g_path_get_basename(name);
    g_autoptr(GError) unheard = NULL;
    ACR_AUTO_FD root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ACR_AUTO_FD parent = root < 0 ? -1 : acr_dir_open_beneath(root, name, false);
    if (parent >= 0)
        (void)!acr_file_replace_at(parent, leaf, name, text, strlen(text), 0644, &unheard);
}

AcrJson *acr_live_read(const char *top, const char *name)
{
    const AcrFolder folder = {.path = (char *)top};
    g_autoptr(GBytes) bytes = acr_folder_read_file(&folder, name, ACR_JSON_FILE_MAX_BYTES, NULL);
    return acr_json_parse_bytes(bytes, NULL);
}

/* ---- A run's ---- */

AcrJson *acr_spent_to_json(const AcrSpent *spent)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "calls", (gint64)spent->calls);
    acr_json_set_int(json, "tokens", spent->tokens);
    acr_json_set_int(json, "cost_microusd", spent->cost_microusd);
    acr_json_set_int(json, "charged_microusd", spent->charged_microusd);
    return json;
}

static void write_note(const AcrLiveNote *note)
{
    if (!note->folder)
        return;
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_json_set(json, "process", acr_live_process_to_json(note->begun_ms));
    acr_json_set_string(json, "stage", note->stage ? note->stage : "");
    acr_json_set_int(json, "stage_ms", note->stage_ms);
    acr_json_set_int(json, "attempt", note->attempt);
    acr_json_set_int(json, "number", note->number);
    acr_json_set(json, "spent", acr_spent_to_json(&note->spent));
    acr_live_write(note->folder->path, NOTE, json);
}

static void on_stage(void *ctx, guint attempt, const char *stage, guint number)
{
    AcrLiveNote *note = ctx;
    g_free(note->stage);
    note->stage = g_strdup(stage);
    note->attempt = attempt;
    note->number = number;
    note->stage_ms = acr_live_now_ms();
    write_note(note);
    if (note->next)
        note->next->stage(note->next->ctx, attempt, stage, number);
}

static void on_spent(void *ctx, const AcrSpent *spent)
{
    AcrLiveNote *note = ctx;
    note->spent = *spent; /* written with the stage that follows */
    if (note->next)
        note->next->spent(note->next->ctx, spent);
}

static void on_note(void *ctx, const char *line)
{
    const AcrLiveNote *note = ctx;
    if (note->next)
        note->next->note(note->next->ctx, line);
}

static void on_warn(void *ctx, const char *line)
{
    const AcrLiveNote *note = ctx;
    if (note->next)
        note->next->warn(note->next->ctx, line);
}

void acr_live_note_init(AcrLiveNote *note, const AcrProgress *next)
{
    gint64 now = acr_live_now_ms();
    *note = (AcrLiveNote){.next = next, .begun_ms = now, .stage_ms = now};
    note->progress = (AcrProgress){note, on_stage, on_note, on_spent, on_warn};
}

void acr_live_note_begin(AcrLiveNote *note, const AcrFolder *folder)
{
    note->folder = folder;
    write_note(note);
}

void acr_live_note_clear(AcrLiveNote *note)
{
    g_autofree char *path = note->folder ? acr_folder_path(note->folder, NOTE) : NULL;
    if (path)
        (void)unlink(path);
    note->folder = NULL;
    g_clear_pointer(&note->stage, g_free);
}

void acr_live_run_read(const char *top, const char *name, AcrLiveRun *out)
{
    g_autofree char *inside = name ? g_build_filename(name, NOTE, NULL) : g_strdup(NOTE);
    g_autoptr(AcrJson) json = acr_live_read(top, inside);
    const AcrJson *spent = acr_json_get(json, "spent");
    const char *stage = acr_json_get_string(json, "stage");
    *out = (AcrLiveRun){
        .stage = acr_text_shorten(stage ? stage : "", MAX_STAGE),
        .stage_ms = time_of(json, "stage_ms"),
        .attempt = (guint)CLAMP(acr_json_get_int(json, "attempt", 0), 0, G_MAXINT32),
        .number = (guint)CLAMP(acr_json_get_int(json, "number", 0), 0, G_MAXINT32),
        .spent = {.calls = (guint64)MAX(acr_json_get_int(spent, "calls", 0), 0),
                  .tokens = acr_json_get_int(spent, "tokens", -1),
                  .cost_microusd = acr_json_get_int(spent, "cost_microusd", -1),
                  .charged_microusd = MAX(acr_json_get_int(spent, "charged_microusd", 0), 0)}};
    acr_live_process_from_json(acr_json_get(json, "process"), &out->process);
}

void acr_live_run_clear(AcrLiveRun *run)
{
    g_clear_pointer(&run->stage, g_free);
}
