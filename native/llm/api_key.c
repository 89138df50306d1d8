/* Reads keys from a command's output or from a file that only its owner may read. All memory that
 * held a key is wiped before it is freed. No message shows the command, which may itself contain a
 * key, or the command's standard error. */
#include "llm/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *acr_variable(const char *name)
{
    const char *value = g_getenv(name);
    return value && *value ? value : NULL;
}

const char *acr_first_variable(const char *const *names)
{
    const char *value = NULL;
    for (; !value && names && *names; names++)
        value = acr_variable(*names);
    return value;
}

static bool refuse_key(GError **error, const char *source, const char *why)
{
    return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH, "%s %s", source, why);
}

char *acr_key_bare(char *text)
{
    gsize len = strlen(g_strstrip(text));
    if (len >= 2 && strchr("\"'", *text) && text[len - 1] == *text) {
        memmove(text, text + 1, len - 2);
        text[len - 2] = '\0';
    }
    if (g_ascii_strncasecmp(text, "Bearer ", strlen("Bearer ")) == 0)
        memmove(text, text + strlen("Bearer "), strlen(text + strlen("Bearer ")) + 1);
    return g_strstrip(text);
}

bool acr_key_check(const char *key, const char *source, GError **error)
{
    if (!*key)
        return refuse_key(error, source, "is empty");
    if (strlen(key) > ACR_KEY_MAX_BYTES)
        return refuse_key(error, source, "is too long for a key");
    for (const char *c = key; *c; c++)
        if (!g_ascii_isgraph(*c))
            return refuse_key(error, source, "contains a character that is not allowed in a key");
    return true;
}

/* Copies the first line of `text`, which is the key, to *out_key, and wipes the whole of `text`. */
static bool take_key_line(char *text, gsize len, const char *source, char **out_key, GError **error)
{
    const char *end = memchr(text, '\n', len);
    char *key = acr_key_bare(g_strndup(text, end ? (gsize)(end - text) : len));
    bool ok = memchr(text, '\0', len)
                  ? refuse_key(error, source, "contains a character that is not allowed in a key")
                  : acr_key_check(key, source, error);
    explicit_bzero(text, len);
    if (ok)
        *out_key = key;
    else
        acr_wipe(key);
    return ok;
}

static bool check_result(const AcrSpawnResult *result, gint64 timeout_ms, GError **error)
{
    g_autofree char *why = NULL;
    if (result->interrupted)
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_INTERRUPTED, "interrupted");
    if (result->timed_out)
        why = g_strdup_printf("timed out after %" G_GINT64_FORMAT " seconds",
                              (timeout_ms + 999) / 1000);
    else if (result->flooded)
        why = g_strdup("printed more text than a key may have");
    else if (result->signal)
        why = g_strdup_printf("was ended by signal %d", result->signal);
    else if (result->exit_code != 0)
        why = g_strdup_printf("failed with exit code %d", result->exit_code);
    else if (result->out_total == 0 || result->out_total > ACR_KEY_MAX_BYTES)
        why = g_strdup(result->out_total ? "printed more text than a key may have"
                                         : "printed nothing");
    return !why || refuse_key(error, "the key command", why);
}

static bool key_from_command(const AcrModelOptions *options, char **out_key, GError **error)
{
    const char *const argv[] = {"/bin/sh", "-c", options->key_command, NULL};
    gint64 left_ms = options->budget ? acr_budget_left_ms(options->budget) : G_MAXINT64;
    AcrSpawn spawn = {
        .argv = argv,
        .timeout_ms = CLAMP(left_ms, 1, ACR_KEY_COMMAND_TIMEOUT_MS),
        .output_limit = ACR_KEY_MAX_BYTES,
        .flood_limit = ACR_KEY_COMMAND_MAX_OUTPUT,
        .interrupt = options->interrupt,
    };
    g_auto(AcrSpawnResult) result = {0};
    gsize len = 0;
    char *text = NULL;
    if (!acr_spawn_run(&spawn, &result, NULL))
        return refuse_key(error, "the key command", "cannot be run by '/bin/sh'");
    /* the output has no other reference, so its memory can be wiped */
    text = (char *)g_bytes_get_data(result.out, &len);
    bool ok = check_result(&result, spawn.timeout_ms, error) &&
              take_key_line(text, len, "the output of the key command", out_key, error);
    if (text)
        explicit_bzero(text, len);
    return ok;
}

static bool check_file(int fd, const char *source, GError **error)
{
    struct stat st = {0};
    if (fstat(fd, &st) != 0)
        return refuse_key(error, source, g_strerror(errno));
    if (!S_ISREG(st.st_mode))
        return refuse_key(error, source, "is not a regular file");
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return refuse_key(error, source, "belongs to another user");
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return refuse_key(error, source, "can be read by other users; run chmod 600");
    if (st.st_size > ACR_KEY_MAX_BYTES)
        return refuse_key(error, source, "is too large for a key");
    return true;
}

static bool key_from_file(const char *path, char **out_key, GError **error)
{
    g_autofree char *shown = acr_redact_line(path, NULL, 300);
    g_autofree char *source = g_strdup_printf("the key file '%s'", shown);
    ACR_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    char *buffer = NULL;
    gssize len = 0;
    bool ok = false;
    if (fd < 0)
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH, "cannot open %s: %s", source,
                             g_strerror(errno));
    if (check_file(fd, source, error)) {
        buffer = g_malloc0(ACR_KEY_MAX_BYTES + 1);
        len = read(fd, buffer, ACR_KEY_MAX_BYTES + 1); /* one call of `read` returns all of a
                                                        * regular file */
        ok = len < 0 ? refuse_key(error, source, g_strerror(errno))
                     : take_key_line(buffer, (gsize)len, source, out_key, error);
        explicit_bzero(buffer, ACR_KEY_MAX_BYTES + 1);
        g_free(buffer);
    }
    return ok;
}

bool acr_key_from_options(const AcrModelOptions *options, char **out_key, GError **error)
{
    if (options->key_command && options->key_file)
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                             "give --key-command or --key-file, not both");
    *out_key = NULL;
    if (options->key_command)
        return key_from_command(options, out_key, error);
    return !options->key_file || key_from_file(options->key_file, out_key, error);
}
