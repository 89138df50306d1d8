/* URL, headers and keys for the requests to a model (endpoint.c, api_key.c). */
#pragma once

#include "llm/llm_private.h"

typedef struct AcrProvider AcrProvider;

/* The endpoint of a model. acr_endpoint_clear wipes the keys. */
typedef struct {
    const AcrProvider *provider;
    const char *shown_name; /* borrowed; the model's name as the user gave it, for messages */
    const char *model;      /* borrowed; the model's name at the provider */
    char *base_url;         /* owned; without a trailing slash */
    char *url;              /* owned; the URL to which requests are posted */
    char *unix_socket;      /* owned; path of the unix socket; NULL: the server is reached by TCP */
    /* array of owned strings "Name: value"; ends with NULL once the endpoint is complete */
    GPtrArray *headers;
    char *key; /* owned; NULL: there is no key */
    /* static; name of the variable that held the key; NULL: the key came from an option, or there
     * is no key */
    const char *key_variable;
    bool may_lack_key;
    char *missing_key;  /* owned; how to set the key that is missing; NULL: none is missing */
    GPtrArray *secrets; /* array of owned strings that are never shown, such as the key */
    bool is_own;        /* the requests go to the provider's own address, over TLS */
    /* no base URL was given, so the server knows the newer names of parameters */
    bool is_official_dialect;
    bool no_sampling;      /* the version of the API has no temperature */
    AcrAwsCredentials aws; /* keys that sign requests; may be unset */
} AcrEndpoint;
/* Makes an endpoint from the options and the environment. Errors: USAGE, AUTH. */
bool acr_endpoint_make(const AcrProvider *provider, const char *shown_name, const char *model,
                       const AcrModelOptions *options, AcrEndpoint *out,
                       GError **error) ACR_MUST_USE;
void acr_endpoint_clear(AcrEndpoint *endpoint);
/* Adds a header, unless the user gave a header with the name `name`. */
void acr_endpoint_header(AcrEndpoint *endpoint, const char *name, const char *value);
/* Adds the headers that the user gave in an environment variable, one "Name: value" a line. */
void acr_endpoint_headers_from(AcrEndpoint *endpoint, const char *variable);
/* Returns the value of a header, borrowed until another header is set; NULL if the header is not
 * set. */
const char *acr_endpoint_find_header(const AcrEndpoint *endpoint, const char *name);
/* Adds the header "Authorization: Bearer KEY", if there is a key. */
void acr_endpoint_bearer(AcrEndpoint *endpoint);
/* Whether the server is reached by a Unix socket or at an address of this machine. */
bool acr_endpoint_is_loopback(const AcrEndpoint *endpoint);
/* Whether requests carry neither a key nor a header from the user, which could contain a key. */
bool acr_endpoint_is_anonymous(const AcrEndpoint *endpoint);
/* Fails with AUTH if a key is needed but not set; the message names the provider's variables.
 * Servers on this machine, and kinds of servers that people usually run themselves, need no key.
 * With may_lack_key, sets missing_key instead of failing. */
bool acr_endpoint_need_key(AcrEndpoint *endpoint, GError **error) ACR_MUST_USE;
/* Adds a text (copied) to the secrets, which are removed from all shown texts. */
void acr_endpoint_secret(AcrEndpoint *endpoint, const char *secret);

/* ---- Environment and keys (api_key.c) ---- */

/* Returns the value of an environment variable; NULL if it is unset or empty. */
const char *acr_variable(const char *name);
/* Returns the value of the first variable that is set and not empty; NULL if there is none. `names`
 * is NULL-terminated, or NULL. */
const char *acr_first_variable(const char *const *names);
#define ACR_STRINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define ACR_KEY_MAX_BYTES (16u * 1024)
/* timeout of the key command; shorter if --max-time ends earlier */
#define ACR_KEY_COMMAND_TIMEOUT_MS 60000
/* maximum number of bytes on each stream of the key command; a command that writes more is
 * killed */
#define ACR_KEY_COMMAND_MAX_OUTPUT (1024u * 1024)

/* Gets the key from the command or file that the options name; *out_key is owned (wiped by
 * acr_wipe), or NULL if neither a command nor a file is named. Errors: AUTH (the command fails or
 * prints nothing; the file is missing, readable by others, or not a regular file). Error messages
 * contain nothing of the output or the file. */
bool acr_key_from_options(const AcrModelOptions *options, char **out_key,
                          GError **error) ACR_MUST_USE;
/* Removes surrounding blanks, quotes (as in .env files) and the word Bearer from a key, in place.
 * Returns `text`. */
char *acr_key_bare(char *text);
/* Whether a key can be sent in a header; if not, fails with AUTH and names `source`
 * ("OPENAI_API_KEY"). */
bool acr_key_check(const char *key, const char *source, GError **error) ACR_MUST_USE;

/* Sends a GET to the endpoint's base URL; implements `reach` of AcrModelOps. If `ca_file` is NULL,
 * the system's certificates are used. */
bool acr_endpoint_reach(const AcrEndpoint *endpoint, const char *ca_file, gint64 timeout_ms,
                        const AcrInterrupt *interrupt, int *out_status,
                        GError **error) ACR_MUST_USE;
