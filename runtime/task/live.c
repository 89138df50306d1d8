/* Writes and reads notes about running work. A run removes its note when it ends properly. A note
 * whose process has ended shows that the run was killed. */
#include "task/live.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "layout/layout.h"

/* ---- The process of a note ---- */

AcrJson *acr_live_process_to_json(gint64 begun_ms)
{
    AcrOwner self;
    acr_owner_self(&self);
    return acr_json_of(ACR_INT("pid", self.pid), ACR_INT("start", self.start),
                       ACR_STRING("boot", self.boot), ACR_STRING("host", g_get_host_name()),
                       ACR_INT("begun_ms", begun_ms), NULL);
}

void acr_live_process_from_json(const AcrJson *json, AcrLiveProcess *out)
{
    const char *boot = acr_json_get_string(json, "boot"), *host = acr_json_get_string(json, "host");
    gint64 begun_ms = acr_json_get_int(json, "begun_ms", 0);
    AcrOwner self, owner = {.pid = acr_json_get_int(json, "pid", 0),
                            .start = acr_json_get_int(json, "start", 0)};
    *out = (AcrLiveProcess){.pid = owner.pid, .begun_ms = CLAMP(begun_ms, 0, ACR_MOST_MS)};
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

/* ---- The note of a run ---- */

static void write_note(const AcrLiveNote *note)
{
    if (!note->top)
        return;
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_json_set(json, "process", acr_live_process_to_json(note->begun_ms));
    acr_doing_to_json(&note->doing, json);
    acr_live_write(note->top, note->name, json);
}

static void take_event(void *ctx, const AcrProgressEvent *event)
{
    AcrLiveNote *note = ctx;
    bool holds = acr_doing_take(&note->doing, event);
    if (holds && event->kind != ACR_PROGRESS_SPENT) /* the next event writes the note */
        write_note(note);
}

void acr_live_note_init(AcrLiveNote *note, const AcrProgress *next)
{
    *note = (AcrLiveNote){.begun_ms = acr_now_ms()};
    note->progress = (AcrProgress){note, take_event, next};
}

void acr_live_note_begin(AcrLiveNote *note, const char *top, const char *name)
{
    /* the folder belongs to this process; the note shows only the work of this process */
    if (note->top)
        return;
    note->top = g_strdup(top);
    note->name = g_strdup(name);
    write_note(note);
}

void acr_live_note_clear(AcrLiveNote *note)
{
    g_autofree char *path = note->top ? g_build_filename(note->top, note->name, NULL) : NULL;
    if (path && !note->stays)
        (void)unlink(path);
    g_clear_pointer(&note->top, g_free);
    g_clear_pointer(&note->name, g_free);
    acr_doing_clear(&note->doing);
}

void acr_live_run_read(const char *top, const char *name, AcrLiveRun *out)
{
    g_autofree char *inside =
        name ? g_build_filename(name, ACR_FILE_LIVE, NULL) : g_strdup(ACR_FILE_LIVE);
    g_autoptr(AcrJson) json = acr_live_read(top, inside);
    acr_doing_from_json(json, &out->doing);
    acr_live_process_from_json(acr_json_get(json, "process"), &out->process);
}
