/*
 * What AWS's own tools take from the environment and from the two files of a user: keys, session
 * token and region of a profile. The environment goes before the files, as it does there. Only
 * plain keys are read: no roles, no programs that print keys, no services that hand them out. Files
 * are looked through where they lie in memory, and that is wiped, so that no copy of a secret stays
 * behind but the one that is handed out.
 */
#include "llm/aws_private.h"

#include <string.h>

#define MAX_FILE_BYTES (1024u * 1024)
#define BLANKS " \t"

/* A piece of a file's text. */
typedef struct {
    const char *text;
    gsize len;
} Piece;

static const char *const profile_variables[] = {"AWS_PROFILE", "AWS_DEFAULT_PROFILE", NULL};
static const char *const region_variables[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};

void acr_aws_settings_clear(AcrAwsSettings *settings)
{
    if (!settings)
        return;
    acr_wipe(settings->access_key);
    acr_wipe(settings->secret_key);
    acr_wipe(settings->session_token);
    g_free(settings->region);
    memset(settings, 0, sizeof *settings);
}

const char *acr_aws_profile(void)
{
    const char *profile = acr_first_variable(profile_variables, NULL);

    return profile ? profile : "default";
}

/* ---- The files ----------------------------------------------------------------------------------
 */

static Piece trim(Piece piece)
{
    while (piece.len > 0 && strchr(BLANKS, *piece.text)) {
        piece.text++;
        piece.len--;
    }
    while (piece.len > 0 && strchr(BLANKS, piece.text[piece.len - 1]))
        piece.len--;
    return piece;
}

static bool is_text(Piece piece, const char *text)
{
    return piece.len == strlen(text) && memcmp(piece.text, text, piece.len) == 0;
}

/* Without a comment behind a blank. */
static Piece without_comment(Piece piece)
{
    for (gsize i = 0; i + 1 < piece.len; i++)
        if (strchr(BLANKS, piece.text[i]) && strchr("#;", piece.text[i + 1]))
            piece.len = i;
    return piece;
}

/* Whether "[NAME]", or "[profile NAME]" as the config file has it, begins the profile. */
static bool begins_profile(Piece line, const char *profile)
{
    static const char word[] = "profile";
    const char *end = memchr(line.text, ']', line.len);
    Piece name = {line.text + 1, end ? (gsize)(end - line.text - 1) : 0};

    name = trim(name);
    if (name.len > sizeof word && memcmp(name.text, word, sizeof word - 1) == 0 &&
        strchr(BLANKS, name.text[sizeof word - 1]))
        name = trim((Piece){name.text + sizeof word, name.len - sizeof word});
    if (name.len >= 2 && strchr("\"'", *name.text) && name.text[name.len - 1] == *name.text)
        name = (Piece){name.text + 1, name.len - 2};
    return is_text(name, profile);
}

/* The value of "KEY = value" on the line; length 0: it is another's line. */
static Piece value_on(Piece line, const char *key)
{
    const char *equals = memchr(line.text, '=', line.len);
    Piece name = {line.text, equals ? (gsize)(equals - line.text) : 0};
    Piece value = {NULL, 0};

    if (!equals || !is_text(trim(name), key))
        return value;
    value = (Piece){equals + 1, line.len - name.len - 1};
    return trim(without_comment(value));
}

/* A setting of the profile, the last one that is not empty; owned, or NULL. Indented lines belong
 * to a setting that has several of its own. */
static char *find_setting(const char *text, const char *profile, const char *key)
{
    bool is_inside = false;
    Piece found = {NULL, 0};
    gsize len;

    for (const char *at = text; *at; at += len + strspn(at + len, "\r\n")) {
        Piece line = {at, strcspn(at, "\r\n")};
        Piece value;

        len = line.len;
        if (*at == '[')
            is_inside = begins_profile(line, profile);
        if (!is_inside || len == 0 || strchr("[#; \t", *at))
            continue;
        value = value_on(line, key);
        if (value.len > 0)
            found = value;
    }
    return found.text ? g_strndup(found.text, found.len) : NULL;
}

static char *file_path(const char *variable, const char *name)
{
    const char *path = acr_variable(variable);

    if (!path)
        return g_build_filename(g_get_home_dir(), ".aws", name, NULL);
    if (g_str_has_prefix(path, "~/"))
        return g_build_filename(g_get_home_dir(), path + 2, NULL);
    return g_strdup(path);
}

/* The file's text, owned (acr_wipe); "" where there is none. Errors: AUTH. */
static char *read_file(const char *variable, const char *name, GError **error)
{
    g_autofree char *path = file_path(variable, name);
    g_autoptr(GError) failure = NULL;
    GBytes *bytes = acr_file_read(path, MAX_FILE_BYTES, &failure);
    char *data = NULL, *text = NULL;
    gsize len = 0;

    if (!bytes && g_error_matches(failure, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return g_strdup("");
    if (!bytes) {
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH, "cannot read settings of AWS: %s",
                    failure->message);
        return NULL;
    }
    data = g_bytes_unref_to_data(bytes, &len);
    text = g_strndup(len ? data : "", len);
    if (len)
        explicit_bzero(data, len);
    g_free(data);
    return text;
}

/* ---- Settings -----------------------------------------------------------------------------------
 */

static void take_keys(AcrAwsSettings *out, const char *text)
{
    const char *profile = acr_aws_profile();

    out->access_key = find_setting(text, profile, "aws_access_key_id");
    out->secret_key = find_setting(text, profile, "aws_secret_access_key");
    out->session_token = find_setting(text, profile, "aws_session_token");
    if (!out->access_key || !out->secret_key) {
        g_clear_pointer(&out->access_key, acr_wipe);
        g_clear_pointer(&out->secret_key, acr_wipe);
        g_clear_pointer(&out->session_token, acr_wipe);
    }
}

/* False: half of what is needed is there. */
static bool take_variables(AcrAwsSettings *out, GError **error)
{
    const char *access = acr_variable("AWS_ACCESS_KEY_ID");
    const char *secret = acr_variable("AWS_SECRET_ACCESS_KEY");

    if (!access != !secret) {
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH, "%s is set, but %s is not",
                    access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                    access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
        return false;
    }
    out->access_key = g_strdup(access);
    out->secret_key = g_strdup(secret);
    out->session_token = access ? g_strdup(acr_variable("AWS_SESSION_TOKEN")) : NULL;
    return true;
}

static bool take_files(AcrAwsSettings *out, GError **error)
{
    char *config = read_file("AWS_CONFIG_FILE", "config", error);
    char *credentials =
        config ? read_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", error) : NULL;
    bool ok = config && credentials;

    if (ok && !out->access_key)
        take_keys(out, credentials);
    if (ok && !out->access_key)
        take_keys(out, config);
    if (ok && !out->region)
        out->region = find_setting(config, acr_aws_profile(), "region");
    if (ok && !out->region)
        out->region = find_setting(credentials, acr_aws_profile(), "region");
    acr_wipe(config);
    acr_wipe(credentials);
    return ok;
}

bool acr_aws_settings_read(AcrAwsSettings *out, GError **error)
{
    g_auto(AcrAwsSettings) read = {0};

    if (!take_variables(&read, error))
        return false;
    read.region = g_strdup(acr_first_variable(region_variables, NULL));
    if ((!read.access_key || !read.region) && !take_files(&read, error))
        return false;
    if (read.region &&
        strspn(read.region, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(read.region)) {
        g_set_error_literal(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                            "the region of AWS may hold small letters, digits and '-' only");
        return false;
    }
    if (read.access_key &&
        (!acr_key_check(read.access_key, "the access key of AWS", error) ||
         (read.session_token &&
          !acr_key_check(read.session_token, "the session token of AWS", error))))
        return false;
    *out = read;
    read = (AcrAwsSettings){0};
    return true;
}
