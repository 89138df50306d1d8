/* Decides what an execution of a reproducer shows. The exit code alone says little (a script whose
 * import fails also has a non-zero exit code), and any code may print the word AssertionError. Two
 * facts count: how the process ended, and the last traceback on stderr with a frame of the script,
 * because Python prints such a traceback if nothing caught the exception. The frames must be real:
 * each quoted line of the script must equal the actual line. A script may also catch its own
 * AssertionError and report it in its last line; the experiments then decide what the report
 * proves. */
#include "loops/loops.h"

#include <string.h>

#define MAX_SHOWN 300u /* maximum number of bytes shown of a quoted line */
#define TRACEBACK "Traceback (most recent call last):"

void acr_test_verdict_clear(AcrTestVerdict *verdict)
{
    g_clear_pointer(&verdict->why, g_free);
    g_clear_pointer(&verdict->doubts, g_ptr_array_unref);
}

/* The traceback on stderr that shows how a script ended. */
typedef struct {
    /* number of the output line with the exception itself; 0 if there is no traceback */
    guint end;
    /* line number in the last frame that belongs to the script; 0 if there is none */
    guint script_line;
    bool is_quoted; /* the last frame of the script quotes its line correctly, or quotes no line */
} Traceback;

/* Returns the line number in a frame of the script (` File "<dir>/reproducer.py", line 12, in …`);
 * 0 if the line is not such a frame. Python before 3.9 prints the path as given in argv. */
static guint frame_line(const char *line, const char *dir)
{
    g_autofree char *full = g_build_filename(dir, ACR_FILE_SCRIPT, NULL);
    const char *const paths[] = {full, ACR_FILE_SCRIPT};
    for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autofree char *prefix = g_strdup_printf("  File \"%s\", line ", paths[i]);
        if (g_str_has_prefix(line, prefix))
            return (guint)MIN(g_ascii_strtoull(line + strlen(prefix), NULL, 10), G_MAXINT);
    }
    return 0;
}

/* Returns whether line `number` of the script equals `quoted`, ignoring indentation. An empty
 * quotation is accepted, because a traceback that the script itself prints may lack the line. */
static bool quotes_script(char **script, guint number, const char *quoted)
{
    if (number > g_strv_length(script) || !quoted)
        return false;
    if (!g_str_has_prefix(quoted, "    "))
        return true;
    g_autofree char *is = g_strdup(script[number - 1]), *said = g_strdup(quoted);
    return strcmp(g_strstrip(is), g_strstrip(said)) == 0;
}

/* Returns whether the line is the first line of an exception as Python prints it: not indented, a
 * dotted name, followed by a colon or the end of the line. */
static bool is_exception(const char *line)
{
    gsize name = strspn(line, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_.");
    return name > 0 && !g_ascii_isdigit(line[0]) && (line[name] == ':' || line[name] == '\0');
}

static Traceback read_traceback(char **lines, guint first, char **script, const char *dir)
{
    Traceback traceback = {0};
    guint at = first + 1;
    for (; lines[at] && lines[at][0] == ' '; at++) {
        guint number = frame_line(lines[at], dir);
        if (number) {
            traceback.script_line = number;
            traceback.is_quoted = quotes_script(script, number, lines[at + 1]);
        }
    }
    if (lines[at] && at > first + 1 && is_exception(lines[at]))
        traceback.end = at;
    return traceback;
}

/* Returns the last traceback with a frame of the script or, if there is none, the last traceback.
 * The traceback of an uncaught exception has a frame of the script. Other tracebacks may follow it,
 * in the exception's message or from errors that Python ignored during its exit. */
static Traceback find_traceback(char **lines, const char *script, const char *dir)
{
    g_auto(GStrv) code = g_strsplit(script, "\n", -1);
    Traceback last = {0};
    for (guint i = 0; lines[i]; i++)
        g_strchomp(lines[i]);
    for (guint i = 0; lines[i]; i++) {
        if (strcmp(lines[i], TRACEBACK) != 0)
            continue;
        Traceback found = read_traceback(lines, i, code, dir);
        if (found.script_line || !last.script_line)
            last = found;
    }
    return last;
}

/* Returns whether the line reports an AssertionError: "AssertionError: 3 != 4", or with a dotted
 * name "unittest.case.AssertionError". */
static bool is_assertion(const char *line)
{
    g_autofree char *name = g_strndup(line, strcspn(line, ":"));
    const char *last = strrchr(name, '.');
    return strcmp(last ? last + 1 : name, "AssertionError") == 0;
}

/* Adds a doubt if the script wrote files that Python would run, because such a script does not test
 * the project alone. */
static void doubt_changes(const AcrExecuted *executed, GPtrArray *doubts)
{
    static const char *const ends[] = {".py", ".pyc", ".pth", ".so"};
    for (gsize i = 0; executed->changed && executed->changed[i]; i++) {
        const char *path = executed->changed[i];
        bool is_script = strcmp(path, ACR_FILE_SCRIPT) == 0, is_code = false;
        for (guint k = 0; k < G_N_ELEMENTS(ends); k++)
            is_code = is_code || g_str_has_suffix(path, ends[k]);
        if (is_script)
            g_ptr_array_add(doubts, g_strdup("the script changes itself while it runs"));
        else if (is_code)
            g_ptr_array_add(doubts, g_strdup_printf("the script writes '%s'", path));
    }
}

/* Returns whether a line of the script begins with "assert" or raises AssertionError. */
static bool asserts(const char *script)
{
    g_auto(GStrv) lines = g_strsplit(script, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        const char *line = g_strchug(lines[i]);
        if (g_str_has_prefix(line, "assert") || g_str_has_prefix(line, "raise AssertionError"))
            return true;
    }
    return false;
}

/* Returns the last line of stderr if it reports an AssertionError and the script contains one: a
 * script that catches its own AssertionError may print only this line. Otherwise returns NULL. */
static const char *find_told(char **lines, const char *script)
{
    const char *last = "";
    for (guint i = 0; lines[i]; i++) {
        if (strcmp(lines[i], TRACEBACK) == 0)
            return NULL;
        if (*lines[i])
            last = lines[i];
    }
    return is_assertion(last) && asserts(script) ? last : NULL;
}

/* Returns the error if Python could not parse the script: "SyntaxError: … (line 3)"; owned. NULL if
 * the script ran. */
static char *find_syntax_error(char **lines, const char *dir)
{
    guint number = lines[0] ? frame_line(lines[0], dir) : 0;
    for (guint i = 1; number && lines[i]; i++) {
        g_autofree char *name = g_strndup(lines[i], strcspn(lines[i], ":"));
        if (is_exception(lines[i]) && g_str_has_suffix(name, "Error"))
            return g_strdup_printf("%s (line %u)", lines[i], number);
    }
    return NULL;
}

/* Returns " (FILE, line 3)" if the traceback ends with a SyntaxError of a file, otherwise "";
 * owned. */
static char *syntax_place(const Traceback *traceback, char **lines)
{
    static const char start[] = "  File \"";
    guint at = traceback->end;
    bool is_syntax = g_str_has_prefix(lines[at], "SyntaxError") ||
                     g_str_has_prefix(lines[at], "IndentationError");
    while (is_syntax && at > 0 && !g_str_has_prefix(lines[at], start))
        at--;
    const char *path = g_str_has_prefix(lines[at], start) ? lines[at] + strlen(start) : NULL,
               *quote = path ? strchr(path, '"') : NULL;
    return quote ? g_strdup_printf(" (%.*s%s)", (int)(quote - path), path, quote + 1)
                 : g_strdup("");
}

/* Judges a non-zero exit; `told` is from find_told. */
static char *judge_failure(const Traceback *traceback, char **lines, const char *told,
                           int exit_code, AcrTestResult *out_result)
{
    const char *line = traceback->end ? lines[traceback->end] : NULL;
    if (!line && told) {
        g_autofree char *shown = acr_text_shorten(told, MAX_SHOWN);
        *out_result = ACR_TEST_REPRODUCED;
        return g_strdup_printf("the script prints %s and exits with %d", shown, exit_code);
    }
    if (!line)
        return g_strdup_printf("the script exits with %d, but no exception ended it: an "
                               "AssertionError must leave it uncaught",
                               exit_code);
    g_autofree char *shown = acr_text_shorten(line, MAX_SHOWN);
    if (!is_assertion(line)) {
        g_autofree char *place = syntax_place(traceback, lines);
        return g_strdup_printf("another error ended the script: %s%s", shown, place);
    }
    if (!traceback->script_line)
        return g_strdup("the traceback on stderr has no line of the script");
    if (!traceback->is_quoted)
        return g_strdup_printf("the traceback on stderr names line %u of the script, but the line "
                               "that it quotes is different",
                               traceback->script_line);
    *out_result = ACR_TEST_REPRODUCED;
    return g_strdup_printf("line %u of the script raises %s", traceback->script_line, shown);
}

void acr_test_judge(const AcrExecuted *executed, const char *script, const char *dir,
                    AcrTestVerdict *out)
{
    *out = (AcrTestVerdict){.executed = executed,
                            .result = ACR_TEST_BROKEN,
                            .doubts = g_ptr_array_new_with_free_func(g_free)};
    doubt_changes(executed, out->doubts);
    if (executed->limit != ACR_LIMIT_NONE && executed->limit != ACR_LIMIT_OUTPUT) {
        out->why = g_strdup_printf("the script hit the limit on %s",
                                   acr_sandbox_limit_words(executed->limit));
        return;
    }
    if (executed->signal) {
        out->why = g_strdup_printf("signal %d ended the script", executed->signal);
        return;
    }
    g_autofree char *text = acr_utf8_repair_bytes(executed->err);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    Traceback traceback = find_traceback(lines, script, dir);
    const char *line = traceback.end ? lines[traceback.end] : NULL;
    if (executed->exit_code == 0) {
        out->result = ACR_TEST_PASSED;
        out->why = g_strdup("the script exits with 0");
        if (line && is_assertion(line))
            g_ptr_array_add(out->doubts,
                            g_strdup("the script prints an AssertionError and exits with 0"));
        return;
    }
    g_autofree char *syntax = line ? NULL : find_syntax_error(lines, dir);
    if (syntax) {
        g_autofree char *shown = acr_text_shorten(syntax, MAX_SHOWN);
        out->why = g_strdup_printf("the script is not valid Python: %s", shown);
        return;
    }
    out->why = judge_failure(&traceback, lines, find_told(lines, script), executed->exit_code,
                             &out->result);
    out->line = out->result == ACR_TEST_REPRODUCED ? traceback.script_line : 0;
}
