/* Runs tests once in the sandbox. inside/supervise.py reads a request from standard input, and
 * answers in JSON on standard output. If only a log has the outcomes, the worker parses the log. */
#include "project/project_private.h"

#include <string.h>

#define SOURCE_BYTES ((gsize)1024 * 1024)
#define OUTPUT_BYTES ((gsize)64 * 1024 * 1024)
#define GRACE_MS 30000 /* time limit of the sandbox beyond that of the tests */
#define PROBE_MS 60000
#define SHOWN_BYTES 300u

#define SUPERVISE "supervise.py"
/* Files that supervise.py writes into the sandbox, where the project's Python uses them. */
static const char *const sources[] = {
    "acr_test_events.py", "acr_pytest_report.py", "pytest_main.py", "unittest_report.py",
    "unittest_main.py",   "hooked_main.py",       "sympy_main.py",  "line_tracer.py"};

#define TRACER "line_tracer.so"
extern const char acr_line_tracer[];
extern const unsigned acr_line_tracer_size;

#define fail(error, ...)                                                                           \
    acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_FAILED, __VA_ARGS__)

static char *read_source(const AcrProject *project, const char *name, GError **error)
{
    g_autofree char *path =
        g_build_filename(project->python_dir, "acr", "project", "inside", name, NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, SOURCE_BYTES, error);
    return bytes ? acr_bytes_text(bytes) : NULL;
}

char *acr_project_inside_digest(const AcrProject *project, GError **error)
{
    g_autofree char *text = read_source(project, SUPERVISE, error);
    for (guint i = 0; text && i < G_N_ELEMENTS(sources); i++) {
        g_autofree char *more = read_source(project, sources[i], error),
                        *before = g_steal_pointer(&text);
        text = more ? g_strconcat(before, more, NULL) : NULL;
    }
    return text ? acr_sha256_hex(text, strlen(text)) : NULL;
}

/* Sets the error for a run that gave no answer. */
static bool fail_of(const AcrExecuted *executed, GError **error)
{
    g_autofree char *told = g_strchomp(acr_utf8_repair_bytes(executed->err));
    gsize len = strlen(told);
    const char *limit = acr_sandbox_limit_words(executed->limit);
    return fail(error, "the tests cannot be run: %s%s%s", limit ? "the limit on " : "",
                limit   ? limit
                : *told ? told + (len > SHOWN_BYTES ? len - SHOWN_BYTES : 0)
                        : "the project's Python ended without an answer",
                limit ? " was hit" : "");
}

static AcrJson *run_supervisor(const AcrProject *project, const AcrOverlay *overlay,
                               const AcrJson *request, gint64 time_ms, AcrExecuted *executed,
                               GError **error)
{
    g_autofree char *code = read_source(project, SUPERVISE, error), *text = acr_json_print(request);
    const char *python = code ? acr_sandbox_python(project->sandbox, error) : NULL;
    if (!python)
        return NULL;
    g_autoptr(GBytes) input = g_bytes_new(text, strlen(text));
    const char *const argv[] = {python, "-Sc", code, NULL}; /* needs only the standard library */
    AcrExecution execution = {
        .overlay = overlay,
        .argv = argv,
        .input = input,
        .network = project->network,
        .has_git = true,
        .limits = project->limits,
    };
    execution.limits.wall_ms = time_ms + GRACE_MS;
    execution.limits.output_bytes = OUTPUT_BYTES;
    if (!acr_sandbox_run(project->sandbox, &execution, executed, error))
        return NULL;
    return acr_json_parse_bytes(executed->out, NULL);
}

void acr_probe_clear(AcrProbe *probe)
{
    g_clear_pointer(&probe->digest, g_free);
    g_clear_pointer(&probe->version, g_free);
    g_clear_pointer(&probe->modules, acr_json_free);
}

bool acr_project_probe(const AcrProject *project, AcrProbe *out, GError **error)
{
    g_autoptr(AcrJson) request = acr_json_new_object();
    acr_json_set_bool(request, "probe", true);
    g_auto(AcrExecuted) executed = {0};
    g_autoptr(AcrJson) answer = run_supervisor(project, NULL, request, PROBE_MS, &executed, error);
    const char *digest = acr_json_get_string(answer, "digest"),
               *version = acr_json_get_string(answer, "version");
    if (!digest || !version)
        return executed.out ? fail_of(&executed, error) : false;
    *out = (AcrProbe){.digest = g_strdup(digest),
                      .version = g_strdup(version),
                      .modules = acr_json_copy(acr_json_get(answer, "modules"))};
    return true;
}

static AcrJson *make_request(const AcrProject *project, const AcrTestOrder *order, GError **error)
{
    g_autoptr(AcrJson) request = acr_json_new_object();
    AcrJson *files = acr_json_new_object();
    acr_json_set(request, "files", files);
    for (guint i = 0; i < G_N_ELEMENTS(sources); i++) {
        g_autofree char *text = read_source(project, sources[i], error);
        if (!text)
            return NULL;
        acr_json_set_string(files, sources[i], text);
    }
    if (order->is_traced)
        acr_json_set(files, TRACER, acr_json_new_bytes(acr_line_tracer, acr_line_tracer_size));
    acr_json_set(request, "plan", acr_json_copy(order->plan));
    acr_json_set(request, "select",
                 order->select ? acr_json_new_texts(order->select) : acr_json_new_null());
    if (order->good)
        acr_json_set(request, "good", acr_json_new_texts(order->good));
    acr_json_set_bool(request, "wide", order->is_wide);
    acr_json_set(request, "order",
                 order->order ? acr_json_copy(order->order) : acr_json_new_null());
    acr_json_set_bool(request, "trace", order->is_traced);
    acr_json_set_bool(request, "imports", order->has_imports);
    acr_json_set_int(request, "seconds", MAX(order->time_ms / 1000, 1));
    return g_steal_pointer(&request);
}

/* Reads outcomes from the log, if the test runner reported none. */
static bool read_log_outcomes(const AcrProject *project, const AcrJson *plan, AcrTestRun *run,
                              GError **error)
{
    const char *parser = acr_json_get_string(plan, "parser");
    if (!parser || run->ids->len > 0 || !run->log)
        return true;
    g_autoptr(AcrJson) rows = acr_json_new_array(), whole = acr_json_new_object();
    g_autoptr(AcrJson) question =
        acr_json_of(ACR_STRING("parser", parser), ACR_STRING("log", run->log), NULL);
    g_autoptr(AcrJson) found = acr_project_ask(project, "outcomes", question, error);
    if (!found)
        return false;
    for (const AcrJson *at = acr_json_first(found); at; at = acr_json_next(at)) {
        AcrJson *row = acr_json_copy(at);
        acr_json_append(row, acr_json_new_int(0));
        acr_json_append(rows, row);
    }
    acr_json_set(whole, "tests", g_steal_pointer(&rows));
    g_autofree char *log = g_steal_pointer(&run->log);
    int exit_code = run->exit_code;
    bool timed_out = run->timed_out;
    acr_test_run_take(run, whole);
    run->exit_code = exit_code, run->timed_out = timed_out;
    run->log = acr_text_shorten(log, 16 * 1024);
    return true;
}

bool acr_project_run(const AcrProject *project, const AcrTestOrder *order, AcrTestRun *out,
                     GError **error)
{
    g_autoptr(AcrJson) request = make_request(project, order, error);
    g_auto(AcrExecuted) executed = {0};
    const char *command = acr_json_get_string(order->plan, "command");
    if (request && project->on_run && command)
        project->on_run(project->ctx, command);
    g_autoptr(AcrJson) answer =
        request ? run_supervisor(project, order->overlay, request, order->time_ms, &executed, error)
                : NULL;
    if (!executed.out)
        return false;
    g_auto(AcrTestRun) run = {0};
    acr_test_run_init(&run);
    if (answer)
        acr_test_run_take(&run, answer);
    if (answer && order->is_traced)
        run.lines = acr_json_copy(acr_json_get(answer, "lines"));
    run.has_all_lines = !acr_json_get_bool(answer, "lines_cut", false);
    run.wall_ms = executed.wall_ms;
    run.limit = acr_sandbox_limit_name(executed.limit);
    if (!answer && !run.limit)
        return fail_of(&executed, error);
    if (!read_log_outcomes(project, order->plan, &run, error))
        return false;
    *out = run;
    run = (AcrTestRun){0};
    return true;
}
