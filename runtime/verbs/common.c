/*
 * What the subcommands share: errors to exit codes, standard output, option parsing, standard
 * input.
 */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http/http.h"
#include "sandbox/sandbox.h"

const AcrVerb *const acr_verbs[] = {&acr_verb_run,
                                    &acr_verb_search,
                                    &acr_verb_patch,
                                    &acr_verb_index,
                                    &acr_verb_swe_bench,
                                    &acr_verb_replay,
                                    &acr_verb_ask,
                                    &acr_verb_reproduce,
                                    &acr_verb_exec,
                                    &acr_verb_outline_worker,
                                    &acr_verb_sandbox_helper,
                                    NULL};

/* ---- Errors -------------------------------------------------------------------------------------
 */

typedef struct {
    GQuark (*domain)(void);
    int code;
    AcrExit exit;
} ExitRow;

/* What is not in the table is the environment's. */
static const ExitRow exit_rows[] = {
    {acr_task_error_quark, ACR_TASK_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_task_error_quark, ACR_TASK_ERROR_UNFINISHED, ACR_EXIT_NONE},
    {acr_task_error_quark, ACR_TASK_ERROR_DIFFERENT, ACR_EXIT_NONE},
    {acr_agents_error_quark, ACR_AGENTS_ERROR_PROMPT, ACR_EXIT_USAGE},
    {acr_llm_error_quark, ACR_LLM_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_llm_error_quark, ACR_LLM_ERROR_EXPECT, ACR_EXIT_NONE},
    {acr_llm_error_quark, ACR_LLM_ERROR_USED_UP, ACR_EXIT_NONE},
    {acr_llm_error_quark, ACR_LLM_ERROR_CEILING, ACR_EXIT_CEILING},
    {acr_llm_error_quark, ACR_LLM_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_money_error_quark, ACR_MONEY_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_money_error_quark, ACR_MONEY_ERROR_CEILING, ACR_EXIT_CEILING},
    {acr_loops_error_quark, ACR_LOOPS_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_index_error_quark, ACR_INDEX_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_sandbox_error_quark, ACR_SANDBOX_ERROR_USAGE, ACR_EXIT_USAGE},
    {acr_sandbox_error_quark, ACR_SANDBOX_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
    {acr_http_error_quark, ACR_HTTP_ERROR_INTERRUPTED, ACR_EXIT_INTERRUPTED},
};

AcrExit acr_exit_of(const AcrProgram *program, const GError *error)
{
    if (acr_interrupted(program->interrupt))
        return ACR_EXIT_INTERRUPTED;
    for (guint i = 0; i < G_N_ELEMENTS(exit_rows); i++)
        if (g_error_matches(error, exit_rows[i].domain(), exit_rows[i].code))
            return exit_rows[i].exit;
    return ACR_EXIT_ENVIRONMENT;
}

/* One line on stderr, whatever stands in the paths, names and foreign texts that the message
 * repeats. */
static void complain(const char *verb, const char *message, const char *hint)
{
    g_autofree char *line = g_strdup(message);
    for (char *at = line; *at; at++)
        if (g_ascii_iscntrl(*at))
            *at = ' ';
    fprintf(stderr, "acr-host %s: %s%s\n", verb, line, hint);
}

void acr_verb_say(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    complain(verb, message, "");
}

/* Whether further lines of the message are what a command said. */
static bool ends_in_output(const GError *error)
{
    return g_error_matches(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_SETUP) ||
           g_error_matches(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_UNAVAILABLE);
}

/* The output of a set-up, below the line that tells of it. */
static void show_output(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        for (char *at = lines[i]; *at; at++)
            if (g_ascii_iscntrl(*at))
                *at = ' ';
        fprintf(stderr, "    %s\n", lines[i]);
    }
}

AcrExit acr_verb_fail(const AcrProgram *program, const char *verb, const GError *error)
{
    AcrExit code = acr_exit_of(program, error);
    const char *message = code == ACR_EXIT_INTERRUPTED
                              ? "interrupted; the same command goes on from here"
                              : error->message;
    const char *output =
        code != ACR_EXIT_INTERRUPTED && ends_in_output(error) ? strchr(message, '\n') : NULL;
    g_autofree char *line = output ? g_strndup(message, (gsize)(output - message)) : NULL;
    complain(verb, line ? line : message, "");
    if (output)
        show_output(output + 1);
    return code;
}

AcrExit acr_verb_usage(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *hint = g_strdup_printf(" (acr-host %s --help says more)", verb);
    complain(verb, message, hint);
    return ACR_EXIT_USAGE;
}

/* ---- Standard output ----------------------------------------------------------------------------
 */

AcrOut acr_out(const void *data, gsize len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            if (errno == EPIPE)
                return ACR_OUT_CLOSED;
            fprintf(stderr, "acr-host: cannot write to standard output: %s\n", g_strerror(errno));
            return ACR_OUT_FAILED;
        }
        at += n;
        len -= (gsize)n;
    }
    return ACR_OUT_WRITTEN;
}

AcrOut acr_out_text(const char *text)
{
    return acr_out(text, strlen(text));
}

AcrOut acr_out_json(const AcrJson *json)
{
    g_autofree char *text = acr_json_print(json), *line = g_strconcat(text, "\n", NULL);
    return acr_out_text(line);
}

AcrExit acr_out_exit(AcrOut out, AcrExit code)
{
    return out == ACR_OUT_FAILED ? ACR_EXIT_ENVIRONMENT : code;
}

/* ---- Options and input --------------------------------------------------------------------------
 */

static gsize count_entries(const GOptionEntry *entries)
{
    gsize n = 0;
    while (entries && entries[n].long_name)
        n++;
    return n;
}

GOptionEntry *acr_options_join(const GOptionEntry *first, const GOptionEntry *second)
{
    gsize n = count_entries(first), m = count_entries(second);
    GOptionEntry *both = g_new0(GOptionEntry, n + m + 1);
    if (n)
        memcpy(both, first, n * sizeof *first);
    if (m)
        memcpy(both + n, second, m * sizeof *second);
    return both;
}

bool acr_options_parse(const AcrVerb *verb, const char *arguments, const GOptionEntry *entries,
                       int *argc, char ***argv, int *out_exit)
{
    g_autoptr(GOptionContext) context = g_option_context_new(arguments);
    g_autoptr(GError) error = NULL;
    gboolean help = FALSE;
    const GOptionEntry own[] = {{"help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this text", NULL},
                                G_OPTION_ENTRY_NULL};
    g_autofree char *name = g_strdup_printf("acr-host %s", verb->name);
    g_set_prgname(name);
    g_option_context_set_summary(context, verb->summary);
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_add_main_entries(context, own, NULL);
    if (!g_option_context_parse(context, argc, argv, &error)) {
        *out_exit = acr_verb_usage(verb->name, "%s", error->message);
        return false;
    }
    if (help) {
        g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
        *out_exit = acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
        return false;
    }
    if (*argc > 1 && strcmp((*argv)[1], "--") == 0) {
        memmove(*argv + 1, *argv + 2, (gsize)(*argc - 1) * sizeof **argv);
        (*argc)--;
    }
    return true;
}

GBytes *acr_read_stdin(gsize max, const AcrInterrupt *interrupt, GError **error)
{
    return acr_fd_read_all(STDIN_FILENO, "standard input", max, 0, interrupt, error);
}
