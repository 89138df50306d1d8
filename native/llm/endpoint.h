/* Where and how a model is asked: URL, headers, keys (endpoint.c, api_key.c). */
#ifndef ACR_LLM_ENDPOINT_H
#define ACR_LLM_ENDPOINT_H

#include "llm/llm_private.h"

typedef struct AcrProvider AcrProvider;

/* Made once for each model. Clearing it wipes its keys. */
typedef struct {
    const AcrProvider *provider;
    const char *shown_name; /* borrowed; the name as the user gave it, for messages */
    const char *model;      /* borrowed; the model's name at the provider */
    char *base_url;         /* owned; without a trailing slash */
    char *url;              /* owned; the URL to which requests are posted */
    char *unix_socket;      /* owned; NULL: TCP */
    GPtrArray *headers;     /* owned strings "Name: value"; NULL-terminated once made */
    char *key;              /* owned; NULL: none */
    /* static; the variable that the key came from; NULL: an option, or no key */
    const char *key_variable;
    GPtrArray *secrets;       /* owned strings that are never shown: the key and others */
    bool is_own;              /* the provider's own address, over TLS */
    bool is_official_dialect; /* no base URL was given, so the newer parameter names are known */
    bool no_sampling;         /* this version of the API has no temperature */
    AcrAwsCredentials aws;    /* keys that sign requests; may be empty */
} AcrEndpoint;
/* Made from options and environment. Errors: USAGE, AUTH. */
bool acr_endpoint_make(const AcrProvider *provider, const char *shown_name, const char *model,
                       const AcrModelOptions *options, AcrEndpoint *out,
                       GError **error) ACR_MUST_USE;
void acr_endpoint_clear(AcrEndpoint *endpoint);
/* Adds a header, unless the user gave one of that name. */
void acr_endpoint_header(AcrEndpoint *endpoint, const char *name, const char *value);
/* Adds the headers of the user's environment variable, one "Name: value" a line. */
void acr_endpoint_headers_from(AcrEndpoint *endpoint, const char *variable);
/* The value of a header; borrowed until another header is set; NULL: not set. */
const char *acr_endpoint_find_header(const AcrEndpoint *endpoint, const char *name);
/* Authorization: Bearer KEY, if there is a key. */
void acr_endpoint_bearer(AcrEndpoint *endpoint);
/* Whether requests carry neither a key nor a header of the user that stands for one. */
bool acr_endpoint_is_anonymous(const AcrEndpoint *endpoint);
/* Whether a key is set or not needed; servers on this machine, and kinds of servers that people run
 * themselves, need none. Errors: AUTH, naming the provider's variables. */
bool acr_endpoint_need_key(const AcrEndpoint *endpoint, GError **error) ACR_MUST_USE;
/* Keeps a text out of everything that is shown (copied). */
void acr_endpoint_secret(AcrEndpoint *endpoint, const char *secret);

/* ---- Environment and keys (api_key.c) ---- */

/* The value of an environment variable that is set and not empty; NULL: none. */
const char *acr_variable(const char *name);
/* The value of the first variable that is set and not empty; `names` is NULL-terminated, or
 * NULL. */
const char *acr_first_variable(const char *const *names);
#define ACR_STRINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define ACR_KEY_MAX_BYTES (16u * 1024)
#define ACR_KEY_COMMAND_TIMEOUT_MS 60000 /* or the rest of --max-time */
/* bytes on either stream; a command that writes more is killed */
#define ACR_KEY_COMMAND_MAX_OUTPUT (1024u * 1024)

/*
 * The key from the options' command or file; *out_key owned (wiped by acr_wipe), NULL if neither
 * option is given. Errors: AUTH (the command fails or prints nothing; the file is missing, readable
 * by others, or not a regular file). No error contains anything that was read.
 */
bool acr_key_from_options(const AcrModelOptions *options, char **out_key,
                          GError **error) ACR_MUST_USE;
/* Finds the key in a text, which is modified: without surrounding blanks, quotes (as in files of
 * variables) and the word Bearer. */
char *acr_key_bare(char *text);
/* Whether a key can be sent in a header; otherwise AUTH, naming `source` ("OPENAI_API_KEY"). */
bool acr_key_check(const char *key, const char *source, GError **error) ACR_MUST_USE;

/* The `reach` of AcrModelOps, for this endpoint. `ca_file` NULL: the system's. */
bool acr_endpoint_reach(const AcrEndpoint *endpoint, const char *ca_file, gint64 timeout_ms,
                        const AcrInterrupt *interrupt, int *out_status,
                        GError **error) ACR_MUST_USE;

#endif
