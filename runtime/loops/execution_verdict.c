/*
 * What an execution of a reproducer shows. An exit code alone says little (a script that cannot be
 * imported fails too), and the word AssertionError may be printed by anything: what counts is how
 * the process ended, and the last traceback on stderr that passes through the script, which Python
 * writes when nothing caught the exception. Its frames must be real ones: a line that it quotes
 * from the script stands in the script at that number.
 */
#include "loops/loops.h"

#include <string.h>

#define MAX_SHOWN 300u /* bytes of a line that is repeated */
#define TRACEBACK "Traceback (most recent call last):"

void acr_test_verdict_clear(AcrTestVerdict *verdict)
{
    g_clear_pointer(&verdict->why, g_free);
    g_clear_pointer(&verdict->doubts, g_ptr_array_unref);
}

/* ---- The traceback --------------------------------------------------------------------------- */

/* The traceback that tells how a script ended. */
typedef struct {
    char **lines;      /* owned; of the whole text */
    guint first;       /* the number of the one after TRACEBACK */
    guint end;         /* the exception's own line; 0: there is no traceback */
    guint script_line; /* of the last frame in the script; 0: none */
    bool is_quoted;    /* that frame quotes the script as it is */
} Traceback;

static void traceback_clear(Traceback *traceback)
{
    g_clear_pointer(&traceback->lines, g_strfreev);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Traceback, traceback_clear)

/* The number in `  File "<dir>/reproducer.py", line 12, in …`; 0: no such frame. */
static guint frame_line(const char *line, const char *dir)
{
    g_autofree char *with_dir = g_strdup_printf("  File \"%s/%s\", line ", dir, ACR_TEST_FILE),
                    *bare = g_strdup_printf("  File \"%s\", line ", ACR_TEST_FILE);
    const char *const prefixes[] = {with_dir, bare};
    for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(line, prefixes[i]))
            return (guint)MIN(g_ascii_strtoull(line + strlen(prefixes[i]), NULL, 10), G_MAXINT);
    return 0;
}

/* Whether line `number` of the script is `quoted`, but for its indentation. Python quotes nothing
 * where the file has changed meanwhile. */
static bool quotes_script(char *const *script, guint number, const char *quoted)
{
    if (number == 0 || number > g_strv_length((char **)script) || !g_str_has_prefix(quoted, "    "))
        return false;
    g_autofree char *is = g_strdup(script[number - 1]), *said = g_strdup(quoted);
    return strcmp(g_strstrip(is), g_strstrip(said)) == 0;
}

/* Whether it is the first line of an exception as Python prints it: not indented, a dotted name,
 * and a colon or the end. */
static bool is_exception(const char *line)
{
    gsize name = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    return name > 0 && !g_ascii_isdigit(line[0]) && (line[name] == ':' || line[name] == '\0');
}

static void read_frames(Traceback *traceback, char *const *script, const char *dir)
{
    guint at = traceback->first;
    for (; traceback->lines[at] && traceback->lines[at][0] == ' '; at++) {
        guint number = frame_line(traceback->lines[at], dir);
        const char *next = traceback->lines[at + 1];
        if (number) {
            traceback->script_line = number;
            traceback->is_quoted = next && quotes_script(script, number, next);
        }
    }
    if (traceback->lines[at] && at > traceback->first && is_exception(traceback->lines[at]))
        traceback->end = at;
}

/* The last one with a frame of the script, as every exception that leaves it has, else the last.
 * Others may follow it: in the exception's message, or of what was ignored while Python ended. */
static void find_traceback(const char *text, const char *script, const char *dir, Traceback *out)
{
    g_auto(GStrv) code = g_strsplit(script, "\n", -1);
    out->lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; out->lines[i]; i++) {
        g_strchomp(out->lines[i]);
        if (strcmp(out->lines[i], TRACEBACK) == 0) {
            Traceback found = {.lines = out->lines, .first = i + 1};
            read_frames(&found, code, dir);
            if (found.script_line || !out->script_line)
                *out = found;
        }
    }
}

/* "AssertionError" of "AssertionError: 3 != 4", of "unittest.case.AssertionError" too. */
static bool is_assertion(const char *line)
{
    g_autofree char *name = g_strndup(line, strcspn(line, ":"));
    const char *last = strrchr(name, '.');
    return strcmp(last ? last + 1 : name, "AssertionError") == 0;
}

/* ---- The verdict ----------------------------------------------------------------------------- */

static void doubt(AcrTestVerdict *verdict, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void doubt(AcrTestVerdict *verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_ptr_array_add(verdict->doubts, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

/* Whether Python would run what a file of that name says. */
static bool is_code(const char *path)
{
    static const char *const ends[] = {".py", ".pyc", ".pth", ".so"};
    for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
        if (g_str_has_suffix(path, ends[i]))
            return true;
    return false;
}

/* Files of the project that the script wrote: what it shows is then not the project alone. */
static void doubt_changes(const AcrExecuted *executed, AcrTestVerdict *verdict)
{
    for (gsize i = 0; executed->changed && executed->changed[i]; i++) {
        const char *path = executed->changed[i];
        if (strcmp(path, ACR_TEST_FILE) == 0)
            doubt(verdict, "the script changes itself while it runs");
        else if (is_code(path))
            doubt(verdict, "the script writes '%s'", path);
    }
}

static bool judge_end(const AcrExecuted *executed, AcrTestVerdict *verdict)
{
    if (executed->limit != ACR_LIMIT_NONE && executed->limit != ACR_LIMIT_OUTPUT)
        verdict->why = g_strdup_printf("the script hit the limit on %s",
                                       acr_sandbox_limit_words(executed->limit));
    else if (executed->signal)
        verdict->why = g_strdup_printf("signal %d ended the script", executed->signal);
    return verdict->why != NULL;
}

static void judge_failure(const Traceback *traceback, int exit_code, AcrTestVerdict *verdict)
{
    if (!traceback->end) {
        verdict->why = g_strdup_printf(
            "the script exits with %d, but no exception ended it: an AssertionError "
            "must leave it uncaught",
            exit_code);
        return;
    }
    const char *line = traceback->lines[traceback->end];
    g_autofree char *shown = acr_text_shorten(line, MAX_SHOWN);
    if (!is_assertion(line)) {
        verdict->why = g_strdup_printf("another error ended the script: %s", shown);
        return;
    }
    if (!traceback->script_line) {
        verdict->why = g_strdup("the traceback on stderr has no line of the script");
        return;
    }
    if (!traceback->is_quoted) {
        verdict->why = g_strdup_printf("the traceback on stderr names line %u of the script, but "
                                       "quotes it otherwise than it is",
                                       traceback->script_line);
        return;
    }
    verdict->result = ACR_TEST_REPRODUCED;
    verdict->line = traceback->script_line;
    verdict->why =
        g_strdup_printf("line %u of the script raises %s", traceback->script_line, shown);
}

void acr_test_judge(const AcrExecuted *executed, const char *script, const char *dir,
                    AcrTestVerdict *out)
{
    AcrTestVerdict verdict = {.result = ACR_TEST_BROKEN,
                              .doubts = g_ptr_array_new_with_free_func(g_free)};
    doubt_changes(executed, &verdict);
    if (judge_end(executed, &verdict)) {
        *out = verdict;
        return;
    }
    g_autofree char *text = acr_utf8_repair_bytes(executed->err);
    g_auto(Traceback) traceback = {0};
    find_traceback(text, script, dir, &traceback);
    if (executed->exit_code == 0) {
        verdict.result = ACR_TEST_PASSED;
        verdict.why = g_strdup("the script exits with 0");
        if (traceback.end && is_assertion(traceback.lines[traceback.end]))
            doubt(&verdict, "the script prints an AssertionError and exits with 0");
    } else {
        judge_failure(&traceback, executed->exit_code, &verdict);
    }
    *out = verdict;
}
