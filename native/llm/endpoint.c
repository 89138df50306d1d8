/* Determines where and how requests are sent: the base URL (from an option, the environment or the
 * provider), the socket of a unix: address, the key and the headers. All secrets are listed, so
 * that they can be removed from every text and wiped at the end. */
#include "llm/endpoint.h"

#include <string.h>

#include "http/http.h"
#include "llm/provider.h"

/* minimum length of a secret; shorter values are ordinary words */
#define MIN_SECRET_BYTES 8u
#define MAX_GIVEN_HEADERS 100 /* maximum number of headers in one environment variable */

const char *acr_endpoint_find_header(const AcrEndpoint *endpoint, const char *name)
{
    gsize len = strlen(name);
    for (guint i = 0; i < endpoint->headers->len; i++) {
        /* the list of headers ends with NULL once the endpoint is complete */
        const char *line = endpoint->headers->pdata[i];
        if (line && g_ascii_strncasecmp(line, name, len) == 0 && line[len] == ':')
            return line + len + strlen(": ");
    }
    return NULL;
}

void acr_endpoint_header(AcrEndpoint *endpoint, const char *name, const char *value)
{
    if (!acr_endpoint_find_header(endpoint, name))
        g_ptr_array_add(endpoint->headers, g_strdup_printf("%s: %s", name, value));
}

void acr_endpoint_bearer(AcrEndpoint *endpoint)
{
    g_autofree char *bearer = g_strconcat("Bearer ", endpoint->key, NULL);
    if (endpoint->key)
        acr_endpoint_header(endpoint, "Authorization", bearer);
    explicit_bzero(bearer, strlen(bearer));
}

void acr_endpoint_secret(AcrEndpoint *endpoint, const char *secret)
{
    if (secret && *secret)
        g_ptr_array_add(endpoint->secrets, g_strdup(secret));
}

static void keep_value(AcrEndpoint *endpoint, const char *value)
{
    if (strlen(value) >= MIN_SECRET_BYTES)
        acr_endpoint_secret(endpoint, value);
}

/* Whether the value of the header `name` is public and may occur in answers. */
static bool is_public(const char *name)
{
    static const char *const names[] = {
        "accept",  "content-type",   "user-agent",        "referer",     "http-referer",
        "x-title", "anthropic-beta", "anthropic-version", "openai-beta", NULL};
    g_autofree char *lower = g_ascii_strdown(name, -1);
    return g_strv_contains(names, lower);
}

/* Adds the user's header `line`, "Name: value". The value and each of its words may be secret: a
 * server may return the KEY of "Bearer KEY" alone. */
static void add_given_header(AcrEndpoint *endpoint, const char *line)
{
    g_auto(GStrv) pair = g_strsplit(line, ":", 2);
    g_auto(GStrv) words = NULL;
    if (!pair[0] || !pair[1] || !*g_strstrip(pair[0]))
        return;
    acr_endpoint_header(endpoint, pair[0], g_strstrip(pair[1]));
    words = g_strsplit(pair[1], " ", 8);
    if (!is_public(pair[0])) {
        keep_value(endpoint, pair[1]);
        for (guint i = 0; words[i]; i++)
            keep_value(endpoint, words[i]);
    }
    for (guint i = 0; words[i]; i++)
        explicit_bzero(words[i], strlen(words[i]));
    explicit_bzero(pair[1], strlen(pair[1]));
}

void acr_endpoint_headers_from(AcrEndpoint *endpoint, const char *variable)
{
    const char *value = acr_variable(variable);
    g_auto(GStrv) lines = g_strsplit(value ? value : "", "\n", MAX_GIVEN_HEADERS);
    for (char **line = lines; *line; line++) {
        add_given_header(endpoint, *line);
        explicit_bzero(*line, strlen(*line));
    }
}

void acr_endpoint_clear(AcrEndpoint *endpoint)
{
    acr_aws_credentials_clear(&endpoint->aws);
    acr_wipe(endpoint->key);
    g_clear_pointer(&endpoint->headers, g_ptr_array_unref);
    g_clear_pointer(&endpoint->secrets, g_ptr_array_unref);
    ACR_FREE(endpoint->base_url, endpoint->url, endpoint->unix_socket, endpoint->missing_key);
    memset(endpoint, 0, sizeof *endpoint);
}

/* Returns the path of the provider's own base URL. Servers behind a unix socket use the same
 * path. */
static const char *own_path(const AcrProvider *provider)
{
    const char *host = provider->base_url ? strstr(provider->base_url, "://") : NULL;
    const char *path = host ? strchr(host + 3, '/') : NULL;
    return path ? path : "";
}

/* Parses a base URL of the form unix:PATH, unix://PATH (either may be followed by :/v1) or
 * http+unix://PERCENT-ENCODED/v1. Returns false if the URL has another form. */
static bool read_unix(AcrEndpoint *endpoint, const char *base)
{
    bool is_coded = g_str_has_prefix(base, "http+unix://");
    if (!is_coded && !g_str_has_prefix(base, "unix:"))
        return false;
    const char *path = base + strlen(is_coded ? "http+unix://" : "unix:");
    path += !is_coded && g_str_has_prefix(path, "//") ? 2 : 0;
    const char *rest = is_coded ? strchr(path, '/') : strstr(path, ":/");
    g_autofree char *socket = g_strndup(path, rest ? (gsize)(rest - path) : strlen(path));
    endpoint->unix_socket =
        is_coded ? g_uri_unescape_string(socket, NULL) : g_steal_pointer(&socket);
    endpoint->base_url = g_strconcat("http://localhost",
                                     rest ? rest + !is_coded : own_path(endpoint->provider), NULL);
    return true;
}

static bool refuse_base(const AcrEndpoint *endpoint, GError **error)
{
    return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                         "the base URL of model '%s' must be http://HOST[/PATH], "
                         "https://HOST[/PATH] or unix:PATH[:/PATH]",
                         endpoint->shown_name);
}

/* Removes the request's path, such as "/chat/completions", from the end of a base URL, because
 * users often give the whole URL. */
static void cut_path(char *base)
{
    static const char *const ends[] = {"/chat/completions", "/completions", "/responses",
                                       "/messages",         "/models",      "/api/chat",
                                       "/api/generate"};
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
        if (g_str_has_suffix(base, ends[i]))
            base[strlen(base) - strlen(ends[i])] = '\0';
}

static bool read_base(AcrEndpoint *endpoint, const char *base, GError **error)
{
    gsize len = 0;
    if (strpbrk(base, "?#@ \t\r\n"))
        return refuse_base(endpoint, error);
    if (!read_unix(endpoint, base))
        endpoint->base_url = g_strdup(base);
    else if (!endpoint->unix_socket || endpoint->unix_socket[0] != '/')
        return refuse_base(endpoint, error);
    for (len = strlen(endpoint->base_url); len > 0 && endpoint->base_url[len - 1] == '/'; len--)
        endpoint->base_url[len - 1] = '\0';
    cut_path(endpoint->base_url);
    g_autofree char *authority = acr_http_url_authority(endpoint->base_url);
    return authority || refuse_base(endpoint, error);
}

/* Appends the path that all servers of the provider share, because users often give an address
 * without a path. */
static void add_path(AcrEndpoint *endpoint)
{
    const char *host = strstr(endpoint->base_url, "://");
    if (!endpoint->provider->base_path || strchr(host + strlen("://"), '/'))
        return;
    char *longer = g_strconcat(endpoint->base_url, endpoint->provider->base_path, NULL);
    g_free(endpoint->base_url);
    endpoint->base_url = longer;
}

/* Whether the URL names the provider's own host over TLS, and not a host whose name only begins
 * with the name of the provider's host. */
static bool is_own_address(const AcrProvider *provider, const char *base_url)
{
    gsize len = provider->base_url ? strlen(provider->base_url) : 0;
    return len > 0 && g_str_has_prefix(base_url, "https://") &&
           strncmp(base_url, provider->base_url, len) == 0 &&
           (base_url[len] == '\0' || base_url[len] == '/');
}

static bool find_base(AcrEndpoint *endpoint, const char *option, GError **error)
{
    const AcrProvider *provider = endpoint->provider;
    const char *base = option ? option : acr_first_variable(provider->base_variables);
    g_autofree char *found = NULL;
    g_autoptr(GError) reason = NULL;
    if (!base && provider->base) {
        found = provider->base(&reason);
        base = found;
    }
    if (reason)
        return acr_pass_error(error, &reason);
    endpoint->is_official_dialect = !base && !provider->is_imitator;
    base = base ? base : provider->base_url;
    if (!base)
        return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                             "no server address for model '%s': give --base-url%s%s",
                             endpoint->shown_name, provider->base_variables ? " or set " : "",
                             provider->base_variables ? provider->base_variables[0] : "");
    if (!read_base(endpoint, base, error))
        return false;
    add_path(endpoint);
    endpoint->is_own = is_own_address(provider, endpoint->base_url);
    return true;
}

static bool find_key(AcrEndpoint *endpoint, const AcrModelOptions *options, GError **error)
{
    const char *const *names = endpoint->provider->key_variables;
    if (!acr_key_from_options(options, &endpoint->key, error))
        return false;
    for (; !endpoint->key && names && *names; names++) {
        endpoint->key = acr_key_bare(g_strdup(acr_variable(*names) ? acr_variable(*names) : ""));
        endpoint->key_variable = *names;
        if (!*endpoint->key)
            g_clear_pointer(&endpoint->key, acr_wipe);
    }
    if (endpoint->key && !acr_key_check(endpoint->key, endpoint->key_variable, error))
        return false;
    acr_endpoint_secret(endpoint, endpoint->key);
    return true;
}

bool acr_endpoint_is_anonymous(const AcrEndpoint *endpoint)
{
    static const char *const own[] = {"Authorization", "x-api-key", "api-key", "x-goog-api-key"};
    for (gsize i = 0; i < G_N_ELEMENTS(own); i++)
        if (acr_endpoint_find_header(endpoint, own[i]))
            return false;
    return !endpoint->key;
}

bool acr_endpoint_is_loopback(const AcrEndpoint *endpoint)
{
    return endpoint->unix_socket || acr_http_url_is_loopback(endpoint->base_url);
}

bool acr_endpoint_need_key(AcrEndpoint *endpoint, GError **error)
{
    const AcrProvider *provider = endpoint->provider;
    g_autofree char *names =
        provider->key_variables ? g_strjoinv(" or ", (char **)provider->key_variables) : NULL;
    if (!acr_endpoint_is_anonymous(endpoint) || provider->needs_no_key ||
        acr_endpoint_is_loopback(endpoint))
        return true;
    g_free(endpoint->missing_key);
    endpoint->missing_key = g_strdup_printf("set %s, or give --key-command or --key-file (a server "
                                            "on this machine needs none)",
                                            names ? names : "its variable");
    return endpoint->may_lack_key ||
           acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH, "no key for model '%s': %s",
                         endpoint->shown_name, endpoint->missing_key);
}

/* Adds a text of the form "user:password", and the password alone, to the secrets. */
static void keep_credentials(AcrEndpoint *endpoint, const char *text)
{
    const char *colon = strchr(text, ':');
    acr_endpoint_secret(endpoint, text);
    acr_endpoint_secret(endpoint, colon ? colon + 1 : NULL);
}

/* Adds the user names and passwords of proxies to the secrets, because libcurl quotes an address
 * that it cannot parse, and a proxy may echo its user name and password, as plain text or in
 * base64. */
static void keep_proxy_secrets(AcrEndpoint *endpoint)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *value = acr_variable(names[i]);
        const char *end = value ? strrchr(value, '@') : NULL;
        const char *scheme = end ? g_strstr_len(value, end - value, "://") : NULL;
        const char *start = scheme ? scheme + strlen("://") : value;
        if (!end)
            continue;
        char *given = g_strndup(start, (gsize)(end - start));
        char *plain = g_uri_unescape_string(given, NULL);
        char *basic = g_base64_encode((guchar *)(plain ? plain : ""), plain ? strlen(plain) : 0);
        keep_credentials(endpoint, given);
        keep_credentials(endpoint, plain ? plain : "");
        acr_endpoint_secret(endpoint, basic);
        acr_wipe(given);
        acr_wipe(plain);
        acr_wipe(basic);
    }
}

bool acr_endpoint_make(const AcrProvider *provider, const char *shown_name, const char *model,
                       const AcrModelOptions *options, AcrEndpoint *out, GError **error)
{
    *out = (AcrEndpoint){
        .provider = provider,
        .shown_name = shown_name,
        .model = model,
        .may_lack_key = options->may_lack_key,
        .headers = g_ptr_array_new_with_free_func(acr_wipe),
        .secrets = g_ptr_array_new_with_free_func(acr_wipe),
    };
    /* The user's own headers override ours. The last of several headers with the same name counts,
     * so it is added first. */
    for (guint i = options->headers ? g_strv_length((char **)options->headers) : 0; i > 0; i--)
        add_given_header(out, options->headers[i - 1]);
    acr_endpoint_header(out, "Content-Type", "application/json");
    acr_endpoint_header(out, "Accept",
                        provider->framing == ACR_FRAMES_EVENTSTREAM
                            ? "application/vnd.amazon.eventstream, application/json"
                            : "text/event-stream, application/json");
    if (!find_base(out, options->base_url, error) || !find_key(out, options, error) ||
        !provider->prepare(out, error)) {
        acr_endpoint_clear(out);
        return false;
    }
    keep_proxy_secrets(out);
    g_ptr_array_add(out->headers, NULL);
    return true;
}

bool acr_endpoint_reach(const AcrEndpoint *endpoint, const char *ca_file, gint64 timeout_ms,
                        const AcrInterrupt *interrupt, int *out_status, GError **error)
{
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) reason = NULL;
    AcrHttpRequest request = {.url = endpoint->base_url,
                              .unix_socket = endpoint->unix_socket,
                              .connect_timeout_ms = timeout_ms,
                              .total_timeout_ms = timeout_ms,
                              .ca_file = ca_file,
                              .interrupt = interrupt};
    bool ok = acr_http_exchange(NULL, &request, &response, &reason);
    *out_status = response.status;
    if (ok || response.status > 0) /* any status shows that the server answers */
        return true;
    AcrLlmError code = g_error_matches(reason, ACR_HTTP_ERROR, ACR_HTTP_ERROR_INTERRUPTED)
                           ? ACR_LLM_ERROR_INTERRUPTED
                       : g_error_matches(reason, ACR_HTTP_ERROR, ACR_HTTP_ERROR_TIMEOUT)
                           ? ACR_LLM_ERROR_TIMEOUT
                           : ACR_LLM_ERROR_NETWORK;
    return acr_set_error(error, ACR_LLM_ERROR, code, "%s", reason->message);
}
