/* Reads the kernel's counters of a container. Engines report only a part of the peak memory, and do
 * not report killed or refused processes. The counters are in files of control groups (version 1 or
 * 2). A shell in the container reads them with built-in commands, so the image needs no other
 * program. */
#include "sandbox/container_engine_private.h"
#include "sandbox/sandbox_private.h"

#define READ_TRIES 3
#define READ_AGAIN_US 200000
/* time limit of each read after the command */
#define READ_MS (5 * 1000)
#define MAX_TEXT_BYTES 4096u

static const char script[] =
    "cd /sys/fs/cgroup || exit 0; for f in memory/memory.max_usage_in_bytes memory.peak "
    "memory/memory.oom_control memory.events pids/pids.events pids.events; do "
    "[ -r $f ] && while read -r name value; do echo $f $name $value; done <$f; done; exit 0";

/* Returns a counter of control groups version 1 (`old`) or 2 (`new`); only one of the two exists in
 * `text`. */
static gint64 either_number(const char *text, const char *old, const char *new)
{
    return acr_kernel_number(text, old) + acr_kernel_number(text, new);
}

static bool is_counter_full(AcrEngine *engine, const char *id, guint processes)
{
    g_autofree char *path = g_strdup_printf("/containers/%s/stats?stream=false&one-shot=true", id);
    g_autoptr(GError) reason = NULL;
    g_auto(AcrEngineAnswer) answer = {0};
    return acr_engine_call(engine,
                           &(AcrEngineCall){.method = "GET", .path = path, .timeout_ms = READ_MS},
                           &answer, &reason) &&
           acr_json_get_int(acr_json_get(answer.json, "pids_stats"), "current", 0) >= processes;
}

/* Returns the counters as text; NULL if no command can run in the container any more. */
static char *read_counters(AcrEngine *engine, const char *id)
{
    static const char *const argv[] = {ACR_ENGINE_SHELL, "-c", script, NULL};
    AcrEngineExec exec = {.argv = argv,
                          .dir = "/",
                          .timeout_ms = READ_MS,
                          .output_limit = MAX_TEXT_BYTES,
                          .flood_limit = MAX_TEXT_BYTES};
    g_autoptr(GError) reason = NULL;
    bool ok = acr_engine_exec(engine, id, &exec, &reason) && exec.spawned.exit_code == 0;
    char *text = ok ? acr_bytes_text(exec.spawned.out) : NULL;
    acr_spawn_result_clear(&exec.spawned);
    return text;
}

void acr_engine_count(AcrEngine *engine, const char *id, guint processes, AcrEngineCounts *out)
{
    g_autofree char *text = read_counters(engine, id);
    *out = (AcrEngineCounts){0};
    /* try again, because the memory that a shell needs may not be free yet */
    for (guint i = 1; !text && i < READ_TRIES; i++) {
        g_usleep(READ_AGAIN_US);
        text = read_counters(engine, id);
    }
    if (!text) { /* the shell could not start, perhaps because the limit of processes is reached */
        out->is_ended = acr_engine_is_ended(engine, id);
        out->is_crowded = !out->is_ended && is_counter_full(engine, id, processes);
        return;
    }
    out->peak_bytes = either_number(text, "memory/memory.max_usage_in_bytes", "memory.peak");
    out->killed = (guint64)either_number(text, "memory/memory.oom_control oom_kill",
                                         "memory.events oom_kill");
    out->is_crowded = either_number(text, "pids/pids.events max", "pids.events max") > 0;
}
