/* Reads the input of search: lines of a pipe or file as they arrive, or lines that a person
 * types, with readline. */
#include "verbs/search_input.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libreadline.so.8"
#define PROMPT "search> "
#define MAX_BYTES (64u * 1024 * 1024) /* maximum size of unread input, and of a line, in bytes */
#define READ_BYTES 65536
#define WAIT_MS 200
#define QUIET_MS 300 /* after such a pause, the writer probably waits for an answer */
#define HISTORY_LINES 1000

static const char prompt_help[] =
    "NAME                 classes and functions of that name; CLASS.NAME for one class\n"
    "NAME(                lines that call NAME, like 'callers NAME'\n"
    "TEXT                 lines with TEXT; write /TEXT if it is also a name\n"
    "class, method, code  followed by NAME or TEXT: only that kind\n"
    "history              followed by NAME or TEXT: the commits that change it\n"
    "FILE:10-20           lines of a file\n"
    "list                 every call with its arguments\n"
    "quit                 end (or Ctrl-D)\n"
    "Options may follow: -l files, -c counts, -t tests too, -e a pattern, -w whole words,\n"
    "-C N lines of context, --all, -g FOLDER or FILE.\n";

/* ---- Readline ---- */

typedef char *Generator(const char *text, int state);

/* The functions of readline that are called, under their own names. */
static struct {
    char *(*readline)(const char *prompt);
    void (*add_history)(const char *line);
    int (*read_history)(const char *path);
    int (*write_history)(const char *path);
    void (*stifle_history)(int lines);
    char **(*rl_completion_matches)(const char *text, Generator *generator);
    char **(**rl_attempted_completion_function)(const char *text, int start, int end);
    int *rl_attempted_completion_over;
    int (**rl_event_hook)(void);
    int *rl_done;
    int (*rl_variable_bind)(const char *name, const char *value);
} library;

/* global, because hooks of readline have no argument for them */
static const AcrInterrupt *watched;
static const AcrIndex *completed;
static bool is_first_word;

static bool load_readline(void)
{
    static const struct {
        const char *name;
        gsize at;
    } symbols[] = {
#define ROW(name) {#name, G_STRUCT_OFFSET(__typeof__(library), name)}
        ROW(readline),
        ROW(add_history),
        ROW(read_history),
        ROW(write_history),
        ROW(stifle_history),
        ROW(rl_completion_matches),
        ROW(rl_attempted_completion_function),
        ROW(rl_attempted_completion_over),
        ROW(rl_event_hook),
        ROW(rl_done),
        ROW(rl_variable_bind),
#undef ROW
    };
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* the library stays loaded */
    for (guint i = 0; handle && i < G_N_ELEMENTS(symbols); i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol)
            return false;
        G_STRUCT_MEMBER(void *, &library, symbols[i].at) = symbol;
    }
    return handle;
}

/* Returns the i-th of the words and calls that may begin a line; NULL if there are no more. */
static const char *name_at(gsize i)
{
    static const char *const others[] = {"help", "list", "quit"};
    gsize n, words = 0;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    while (acr_search_word((guint)words))
        words++;
    if (i < words)
        return acr_search_word((guint)i);
    i -= words;
    return i < n ? specs[i].name : i - n < G_N_ELEMENTS(others) ? others[i - n] : NULL;
}

/* Returns whether the class named by the first `len` bytes of `name` has a method `method`. */
static bool has_method(const char *name, gsize len, const char *method)
{
    gsize n;
    const guint32 *ids = acr_index_lookup(completed, ACR_SYMBOL_METHOD, method, &n);
    for (gsize i = 0; i < n; i++) {
        const char *its = acr_index_class_of(completed, ids[i]);
        if (its && strlen(its) == len && strncmp(its, name, len) == 0)
            return true;
    }
    return false;
}

/* Returns the next method CLASS.NAME that begins with `text`; malloc'd; NULL at the end. */
static char *next_method(const char *text, gsize *at)
{
    const char *part = strrchr(text, '.') + 1;
    gsize n, len = (gsize)(part - 1 - text);
    const char *const *names = acr_index_names(completed, ACR_SYMBOL_METHOD, &n);
    while (*at < n) {
        const char *name = names[(*at)++];
        if (g_str_has_prefix(name, part) && has_method(text, len, name)) {
            g_autofree char *whole = g_strdup_printf("%.*s.%s", (int)len, text, name);
            return strdup(whole);
        }
    }
    return NULL;
}

/* Returns the next class, method or function that begins with `text`; NULL at the end. */
static const char *next_definition(const char *text, AcrSymbolKind *kind, gsize *at)
{
    for (; *kind <= ACR_SYMBOL_METHOD; (*kind)++, *at = 0) {
        gsize n;
        const char *const *names = acr_index_names(completed, *kind, &n);
        while (*at < n)
            if (g_str_has_prefix(names[(*at)++], text))
                return names[*at - 1];
    }
    return NULL;
}

/* Returns the next name that begins with `text`, for completion; malloc'd; NULL at the end. */
static char *next_name(const char *text, int state)
{
    static gsize at, place;
    static AcrSymbolKind kind;
    const char *name;
    if (!state) {
        at = place = 0;
        kind = ACR_SYMBOL_CLASS;
    }
    while (is_first_word && (name = name_at(at++)))
        if (g_str_has_prefix(name, text))
            return strdup(name);
    if (strchr(text, '.'))
        return next_method(text, &place);
    name = *text ? next_definition(text, &kind, &place) : NULL;
    return name ? strdup(name) : NULL;
}

static char **complete_name(const char *text, int start, int end)
{
    (void)end;
    is_first_word = start == 0;
    *library.rl_attempted_completion_over = 1; /* do not complete file names */
    return library.rl_completion_matches(text, next_name);
}

/* Ends the current line when a signal arrives. */
static int look_for_signal(void)
{
    if (acr_interrupted(watched))
        *library.rl_done = 1;
    return 0;
}

static void prepare_readline(AcrSearchInput *input)
{
    watched = input->interrupt;
    *library.rl_attempted_completion_function = complete_name;
    *library.rl_event_hook = look_for_signal;
    library.stifle_history(HISTORY_LINES);
    (void)library.rl_variable_bind("show-all-if-ambiguous", "on");
    if (input->history)
        (void)library.read_history(input->history);
}

/* Returns whether Ctrl-C ended the line. Resets the signal, so that the session continues. */
static bool takes_interrupt(AcrSearchInput *input)
{
    if (input->interrupt->signal != SIGINT)
        return false;
    input->interrupt->signal = 0;
    alarm(0);
    return true;
}

static char *read_typed(AcrSearchInput *input)
{
    completed = input->index;
    char *typed = library.readline(PROMPT); /* malloc'd */
    if (takes_interrupt(input)) {
        free(typed);
        (void)!write(STDOUT_FILENO, "\n", 1);
        return g_strdup("");
    }
    char *line = typed && !acr_interrupted(input->interrupt) ? g_strdup(typed) : NULL;
    if (line && *line)
        library.add_history(line);
    if (!line)
        (void)!write(STDOUT_FILENO, "\n", 1);
    free(typed);
    return line;
}

/* ---- Lines ---- */

/* Consumes the first line of the unread input; owned; NULL if there is no whole line. */
static char *take_input_line(AcrSearchInput *input)
{
    const guint8 *data = input->waiting->data + input->taken;
    gsize left = input->waiting->len - input->taken, known = input->searched - input->taken;
    const guint8 *end = left > known ? memchr(data + known, '\n', left - known) : NULL;
    gsize len = end ? (gsize)(end - data) : left;
    input->searched = input->waiting->len;
    if (!end && !(input->is_ended && len))
        return NULL;
    input->taken += len + (end != NULL);
    input->searched = input->taken;
    return acr_utf8_repair(data, len);
}

/* Waits at most `wait_ms` for more input. *out_quiet is true if no input arrived in this time. */
static bool read_more(AcrSearchInput *input, int wait_ms, bool *out_quiet, GError **error)
{
    struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
    guint8 piece[READ_BYTES];
    *out_quiet = poll(&fd, 1, wait_ms) <= 0;
    if (*out_quiet)
        return true;
    ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        return acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED,
                             "cannot read standard input: %s", g_strerror(errno));
    input->is_ended = n == 0;
    g_byte_array_remove_range(input->waiting, 0, (guint)input->taken);
    input->searched -= input->taken;
    input->taken = 0;
    if (n > 0)
        g_byte_array_append(input->waiting, piece, (guint)n);
    return input->waiting->len <= MAX_BYTES ||
           acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG,
                         "standard input is larger than %u bytes", MAX_BYTES);
}

bool acr_search_input_open(AcrInterrupt *interrupt, AcrSearchInput *out, GError **error)
{
    bool is_quiet = false;
    *out = (AcrSearchInput){.interrupt = interrupt, .waiting = g_byte_array_new()};
    out->is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && load_readline();
    if (out->is_terminal) {
        out->history = acr_user_path("XDG_STATE_HOME", ".local/state", "search_history");
        prepare_readline(out);
        return true;
    }
    while (!out->is_ended && !is_quiet && !acr_interrupted(interrupt))
        if (!read_more(out, QUIET_MS, &is_quiet, error))
            return false;
    return true;
}

static void keep_history(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    (void)g_mkdir_with_parents(folder, 0700);
    (void)library.write_history(path);
}

void acr_search_input_clear(AcrSearchInput *input)
{
    if (input->history)
        keep_history(input->history);
    g_free(input->history);
    if (input->waiting)
        g_byte_array_unref(input->waiting);
    *input = (AcrSearchInput){0};
}

bool acr_search_input_next(AcrSearchInput *input, char **out, GError **error)
{
    bool is_quiet;
    while (!acr_interrupted(input->interrupt)) {
        g_autofree char *line = input->is_terminal ? read_typed(input) : take_input_line(input);
        if (line && *g_strstrip(line)) {
            *out = g_steal_pointer(&line);
            return true;
        }
        if (!line && (input->is_terminal || input->is_ended))
            break;
        if (!line && !read_more(input, WAIT_MS, &is_quiet, error))
            return false;
    }
    *out = NULL;
    return true;
}

guint acr_search_input_left(AcrSearchInput *input)
{
    guint n = 0;
    while (input->is_ended) {
        g_autofree char *line = take_input_line(input);
        if (!line)
            break;
        n += *g_strstrip(line) != '\0';
    }
    return n;
}

bool acr_search_command(const AcrCalls *calls, const char *line, bool *out_quits, AcrOut *out)
{
    *out_quits = strcmp(line, "quit") == 0 || strcmp(line, "exit") == 0;
    if (strcmp(line, "list") == 0) {
        g_autofree char *list = acr_search_list(calls);
        *out = acr_out_text(list);
    } else if (strcmp(line, "help") == 0 || strcmp(line, "?") == 0) {
        *out = acr_out_text(prompt_help);
    } else {
        return *out_quits;
    }
    return true;
}
