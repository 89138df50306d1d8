/* Finds keys, session token and region where AWS's own tools look: in the environment, which takes
 * precedence, and in the user's two files. Only plain keys are supported, not roles, programs that
 * print keys, or services that issue them. Memory that held a file is wiped after parsing. */
#include "llm/llm_private.h"

#include <string.h>

#include "llm/endpoint.h"

#define MAX_FILE_BYTES (1024u * 1024)
#define BLANKS " \t"
#define REGION_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

void acr_aws_credentials_clear(AcrAwsCredentials *credentials)
{
    if (!credentials)
        return;
    acr_wipe(credentials->access_key);
    acr_wipe(credentials->secret_key);
    acr_wipe(credentials->session_token);
    g_free(credentials->region);
    memset(credentials, 0, sizeof *credentials);
}

const char *acr_aws_profile(void)
{
    const char *profile = acr_first_variable(ACR_STRINGS("AWS_PROFILE", "AWS_DEFAULT_PROFILE"));
    return profile ? profile : "default";
}

/* Whether the line begins the section of `profile`: "[NAME]", or "[profile NAME]" in the config
 * file. */
static bool begins_profile(char *line, const char *profile)
{
    char *end = strchr(line, ']');
    char *name = line + 1;
    if (!end)
        return false;
    *end = '\0';
    g_strstrip(name);
    if (g_str_has_prefix(name, "profile") && name[7] && strchr(BLANKS, name[7]))
        name = g_strchug(name + 7);
    end = name + strlen(name) - 1;
    if (end > name && strchr("\"'", *name) && *end == *name) {
        *end = '\0';
        name++;
    }
    return strcmp(name, profile) == 0;
}

/* Reads a line of the form "KEY = value # comment" into `out`. */
static void take_setting(AcrAwsCredentials *out, char *line)
{
    const struct {
        const char *key;
        char **place;
    } settings[] = {
        {"aws_access_key_id", &out->access_key},
        {"aws_secret_access_key", &out->secret_key},
        {"aws_session_token", &out->session_token},
        {"region", &out->region},
    };
    char *value = strchr(line, '=');
    if (!value)
        return;
    *value++ = '\0';
    for (char *c = value; *c; c++)
        if (strchr(BLANKS, *c) && c[1] && strchr("#;", c[1]))
            *c = c[1] = '\0';
    g_strchomp(line);
    g_strstrip(value);
    for (gsize i = 0; *value && i < G_N_ELEMENTS(settings); i++) {
        if (strcmp(settings[i].key, line) != 0)
            continue;
        acr_wipe(*settings[i].place);
        *settings[i].place = g_strdup(value);
    }
}

/* Reads the settings of the profile's section into `out`. Skips indented lines, which are nested
 * settings. */
static void take_profile(AcrAwsCredentials *out, char *text)
{
    const char *profile = acr_aws_profile();
    bool is_inside = false;
    char *line = NULL;
    while ((line = strsep(&text, "\r\n"))) {
        if (*line == '[')
            is_inside = begins_profile(line, profile);
        else if (is_inside && *line && !strchr("#; \t", *line))
            take_setting(out, line);
    }
}

/* Reads a file's settings into `out`; treats a missing file as empty. Errors: AUTH. */
static bool read_credentials_file(const char *variable, const char *name, AcrAwsCredentials *out,
                                  GError **error)
{
    const char *given = acr_variable(variable);
    bool is_in_home = given && g_str_has_prefix(given, "~/");
    g_autofree char *path = !given       ? g_build_filename(g_get_home_dir(), ".aws", name, NULL)
                            : is_in_home ? g_build_filename(g_get_home_dir(), given + 2, NULL)
                                         : g_strdup(given);
    g_autoptr(GError) failure = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_FILE_BYTES, &failure);
    gsize len = 0;
    char *data = NULL;
    if (!bytes && !g_error_matches(failure, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH,
                             "cannot read AWS settings: %s", failure->message);
    /* the bytes have no other reference, so their memory can be wiped */
    data = bytes ? (char *)g_bytes_get_data(bytes, &len) : NULL;
    char *text = g_strndup(data ? data : "", len);
    take_profile(out, text);
    explicit_bzero(text, len);
    g_free(text);
    if (data)
        explicit_bzero(data, len);
    return true;
}

/* Moves a complete pair of keys and its session token from `from` to `out`, unless `out` already
 * has a pair. */
static void take_keys(AcrAwsCredentials *out, AcrAwsCredentials *from)
{
    if (out->access_key || !from->access_key || !from->secret_key)
        return;
    out->access_key = g_steal_pointer(&from->access_key);
    out->secret_key = g_steal_pointer(&from->secret_key);
    out->session_token = g_steal_pointer(&from->session_token);
}

static bool read_files(AcrAwsCredentials *out, GError **error)
{
    g_auto(AcrAwsCredentials) config = {0};
    g_auto(AcrAwsCredentials) credentials = {0};
    if (!read_credentials_file("AWS_CONFIG_FILE", "config", &config, error) ||
        !read_credentials_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", &credentials, error))
        return false;
    take_keys(out, &credentials);
    take_keys(out, &config);
    if (!out->region)
        out->region = g_strdup(config.region ? config.region : credentials.region);
    return true;
}

static bool check_credentials(const AcrAwsCredentials *read, GError **error)
{
    if (read->region && read->region[strspn(read->region, REGION_LETTERS)])
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                             "an AWS region consists of lower-case letters, digits and '-'");
    return !read->access_key ||
           (acr_key_check(read->access_key, "the AWS access key", error) &&
            (!read->session_token ||
             acr_key_check(read->session_token, "the AWS session token", error)));
}

bool acr_aws_credentials_read(AcrAwsCredentials *out, GError **error)
{
    g_auto(AcrAwsCredentials) read = {0};
    const char *access = acr_variable("AWS_ACCESS_KEY_ID");
    const char *secret = acr_variable("AWS_SECRET_ACCESS_KEY");
    if (!access != !secret)
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH, "%s is set, but %s is not",
                             access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                             access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    read.access_key = g_strdup(access);
    read.secret_key = g_strdup(secret);
    read.session_token = access ? g_strdup(acr_variable("AWS_SESSION_TOKEN")) : NULL;
    read.region = g_strdup(acr_first_variable(ACR_STRINGS("AWS_REGION", "AWS_DEFAULT_REGION")));
    if ((!read.access_key || !read.region) && !read_files(&read, error))
        return false;
    if (!check_credentials(&read, error))
        return false;
    *out = read;
    read = (AcrAwsCredentials){0};
    return true;
}
