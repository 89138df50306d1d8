/* Runs the set-up of a sandbox. A set-up with network access gets the user's variables that name
 * certificates, package indexes and proxies, because behind a company's proxy pip needs them. The
 * output of a failed set-up is saved beside the cache; the error has the line that matters. */
#include "sandbox/backend.h"
#include "sandbox/sandbox_private.h"

#include <string.h>

/* time limit of a set-up, which is longer because a set-up builds and installs */
#define WALL_MS ((gint64)3600 * 1000)
#define MEMORY_BYTES ((gint64)8 * 1024 * 1024 * 1024)
#define DISK_BYTES ((gint64)8 * 1024 * 1024 * 1024)
#define PROCESSES 4096u
#define OUTPUT_BYTES ((gsize)1024 * 1024)
#define COMMAND_BYTES 200u /* number of bytes of the set-up command that the error shows */
#define LINE_BYTES 400u    /* number of bytes of the set-up's output that the error shows */
#define LOGS "set-up-logs" /* folder beside the sandbox's cache */
#define MAX_CERTIFICATES ((gsize)2 * 1024 * 1024)
/* Writes the certificates from stdin to a file, sets the variables named in $1, and runs $2. */
#define WITH_CERTIFICATES                                                                          \
    "f=${HOME:-/tmp}/.acr-host-certificates.pem; cat >\"$f\" || exit; "                            \
    "for v in $1; do export \"$v=$f\"; done; "                                                     \
    "/bin/sh -c \"$2\" </dev/null; s=$?; rm -f \"$f\"; exit $s"

static const char *const certificate_variables[] = {
    "PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"};

AcrSandboxLimits acr_sandbox_setup_limits(const AcrSandbox *sandbox)
{
    gint64 wall_ms = sandbox->options.setup_ms > 0 ? sandbox->options.setup_ms : WALL_MS;
    if (sandbox->options.deadline_us)
        wall_ms = CLAMP((sandbox->options.deadline_us - g_get_monotonic_time()) / 1000, 1, wall_ms);
    return (AcrSandboxLimits){
        .wall_ms = wall_ms,
        .cpu_s = (wall_ms + 999) / 1000,
        .memory_bytes = MEMORY_BYTES,
        .processes = PROCESSES,
        .disk_bytes = DISK_BYTES,
        .output_bytes = OUTPUT_BYTES,
    };
}

/* ---- The user's variables ---- */

/* Reads the certificate files that the user's variables name, and appends the variables' names to
 * `names`, separated by blanks. Returns the certificates of all files; NULL if there are none. */
static GBytes *read_certificates(AcrSandbox *sandbox, GString *names)
{
    g_autoptr(GByteArray) all = g_byte_array_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < G_N_ELEMENTS(certificate_variables); i++) {
        const char *name = certificate_variables[i], *path = g_getenv(name);
        g_autoptr(GError) reason = NULL;
        if (!path || !*path)
            continue;
        g_autoptr(GBytes) bytes = acr_file_read(path, MAX_CERTIFICATES, &reason);
        if (!bytes) {
            acr_sandbox_remark(sandbox, "the set-up does not get $%s: %s", name, reason->message);
            continue;
        }
        g_string_append_printf(names, "%s ", name);
        if (!g_hash_table_add(seen, (gpointer)path))
            continue;
        gsize len;
        const guint8 *data = g_bytes_get_data(bytes, &len);
        g_byte_array_append(all, data, (guint)len);
        g_byte_array_append(all, (const guint8 *)"\n", 1);
    }
    return names->len ? g_byte_array_free_to_bytes(g_steal_pointer(&all)) : NULL;
}

/* ---- Failures ---- */

/* Whether a line names an exception, e.g. "SSLCertVerificationError" or "KeyError: 'x'". */
static bool names_exception(const char *line)
{
    static const char *const ends[] = {"Error", "Exception"};
    for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
        for (const char *at = strstr(line, ends[i]); at; at = strstr(at + 1, ends[i])) {
            const char *start = at, *end = at + strlen(ends[i]);
            while (start > line && (g_ascii_isalnum(start[-1]) || start[-1] == '_'))
                start--;
            if (start < at && g_ascii_isupper(*start) && !g_ascii_isalnum(*end) && *end != '_')
                return true;
        }
    return false;
}

static bool is_error_line(const char *line)
{
    return g_ascii_strncasecmp(line, "error: ", strlen("error: ")) == 0;
}

/* Whether pip prints a line only because something failed before. */
static bool is_consequence(const char *line)
{
    static const char *const parts[] = {"Could not find a version that",
                                        "No matching distribution",
                                        "subprocess-exited-with-error",
                                        "-generation-failed",
                                        "-install-failure",
                                        "Failed to build",
                                        "Failed building"};
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        if (strstr(line, parts[i]))
            return true;
    return false;
}

char *acr_sandbox_failure_line(GBytes *output)
{
    g_autofree char *text = acr_utf8_repair_bytes(output);
    g_auto(GStrv) lines = g_strsplit_set(g_strchomp(text), "\r\n", -1);
    const char *cause = NULL, *error_line = NULL, *last = "";
    for (guint i = g_strv_length(lines); i-- > 0 && !cause;) {
        const char *line = g_strstrip(lines[i]);
        bool is_error = is_error_line(line);
        if (names_exception(line) || (is_error && !is_consequence(line)))
            cause = line;
        error_line = !error_line && is_error ? line : error_line;
        last = *last ? last : line;
    }
    last = cause ? cause : error_line ? error_line : last;
    return acr_text_shorten(last + (is_error_line(last) ? strlen("error: ") : 0), LINE_BYTES);
}

/* Saves the output of a failed set-up; returns the path, owned; NULL if it cannot be saved. */
static char *save_output(const AcrSandbox *sandbox, const AcrExecuted *executed)
{
    const char *cache = sandbox->options.cache;
    g_autofree char *parent = cache ? g_path_get_dirname(cache) : NULL,
                    *folder = cache ? g_build_filename(parent, LOGS, NULL) : NULL,
                    *name = g_strdup_printf("%.16s.txt", sandbox->digest),
                    *path = cache ? g_build_filename(folder, name, NULL) : NULL,
                    *out = acr_utf8_repair_bytes(executed->out),
                    *err = acr_utf8_repair_bytes(executed->err),
                    *both = g_strconcat(out, err, NULL), *text = acr_text_visible(both);
    g_autoptr(GError) reason = NULL;
    if (path && acr_dir_make(folder, &reason) &&
        acr_file_write_atomic(path, text, strlen(text), 0600, &reason))
        return g_steal_pointer(&path);
    return NULL;
}

static bool check_setup(const AcrSandbox *sandbox, const AcrExecuted *executed, GError **error)
{
    if (executed->exit_code == 0)
        return true;
    bool has_err = g_bytes_get_size(executed->err) > 0;
    g_autofree char *line = acr_sandbox_failure_line(has_err ? executed->err : executed->out),
                    *command = acr_text_shorten(sandbox->options.setup, COMMAND_BYTES),
                    *path = *line ? save_output(sandbox, executed) : NULL;
    g_strdelimit(command, "\r\n\t", ' ');
    const char *limit = acr_sandbox_limit_name(executed->limit);
    g_autofree char *end = limit ? g_strdup_printf("stopped at its limit of %s", limit)
                           : executed->signal
                               ? g_strdup_printf("was ended by signal %d", executed->signal)
                               : g_strdup_printf("exited with %d", executed->exit_code);
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_SETUP, "the set-up '%s' %s%s%s%s%s", command,
                            end, *line ? ": " : " and printed nothing", line,
                            path ? "; the whole output is in " : "", path ? path : "");
}

bool acr_sandbox_run_setup(AcrSandbox *sandbox, AcrRunIn *run_in, const char *where, GError **error)
{
    bool network = sandbox->options.setup_network;
    g_autoptr(GString) left_out = g_string_new(NULL);
    g_auto(GStrv) env = acr_sandbox_setup_variables(&sandbox->options, left_out);
    g_autoptr(GString) names = g_string_new(NULL);
    g_autoptr(GBytes) certificates = network ? read_certificates(sandbox, names) : NULL;
    const char *const plain[] = {"/bin/sh", "-c", sandbox->options.setup, NULL};
    const char *const trusting[] = {
        "/bin/sh", "-c", WITH_CERTIFICATES, "sh", names->str, sandbox->options.setup, NULL};
    AcrExecution execution = {.argv = certificates ? trusting : plain,
                              .env = (const char *const *)env,
                              .input = certificates,
                              .network = network,
                              .has_git = true,
                              .limits = acr_sandbox_setup_limits(sandbox)};
    g_auto(AcrExecuted) executed = {0};
    if (left_out->len)
        acr_sandbox_remark(sandbox, "the set-up does not get%s, because of a possible password",
                           left_out->str);
    acr_sandbox_need_git(sandbox);
    return run_in(sandbox, where, &execution, &executed, error) &&
           check_setup(sandbox, &executed, error);
}
