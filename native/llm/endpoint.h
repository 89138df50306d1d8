/* Where and how a model is asked: URL, headers, keys (endpoint.c, api_key.c). */
#ifndef ACR_LLM_ENDPOINT_H
#define ACR_LLM_ENDPOINT_H

#include "llm/aws.h"
#include "llm/redact.h"

typedef struct AcrProvider AcrProvider;

/* Made once with its model. Cleared, keys are wiped. */
typedef struct {
    const AcrProvider *provider;
    const char *shown_name;   /* borrowed; as the user gave it, for messages */
    const char *model;        /* borrowed; the provider's name of it */
    char *base_url;           /* owned; without a slash at its end */
    char *url;                /* owned; to POST to */
    char *unix_socket;        /* owned; NULL: TCP */
    GPtrArray *headers;       /* owned strings "Name: value"; NULL-terminated once made */
    char *key;                /* owned; NULL: none */
    const char *key_variable; /* static; the one that it came from; NULL: an option, or none */
    GPtrArray *secrets;       /* owned strings that are never shown: the key and others */
    bool is_own;              /* the provider's own address, over TLS */
    bool is_official_dialect; /* no base URL was given: newer names hold */
    bool no_sampling;         /* the version of the API knows no temperature */
    AcrAwsCredentials aws;    /* that requests are signed with; else empty */
} AcrEndpoint;
/* By options and environment. Errors: USAGE, AUTH. */
bool acr_endpoint_make(const AcrProvider *provider, const char *shown_name, const char *model,
                       const AcrModelOptions *options, AcrEndpoint *out,
                       GError **error) ACR_MUST_USE;
void acr_endpoint_clear(AcrEndpoint *endpoint);
/* Adds a header unless there is one of that name, which is the user's own. */
void acr_endpoint_header(AcrEndpoint *endpoint, const char *name, const char *value);
/* Headers of the user's own in an environment variable, one "Name: value" a line. */
void acr_endpoint_headers_from(AcrEndpoint *endpoint, const char *variable);
/* The value of a header that is set; borrowed until the next one is; NULL: none. */
const char *acr_endpoint_find_header(const AcrEndpoint *endpoint, const char *name);
/* Authorization: Bearer KEY, if there is a key. */
void acr_endpoint_bearer(AcrEndpoint *endpoint);
/* Whether there is a key, or none is needed: for servers on this machine, and those that people run
 * themselves. Errors: AUTH, naming the provider's variables. */
bool acr_endpoint_need_key(const AcrEndpoint *endpoint, GError **error) ACR_MUST_USE;
/* Keeps a text out of everything shown (copied). */
void acr_endpoint_secret(AcrEndpoint *endpoint, const char *secret);

/* ---- Environment and keys (api_key.c) ---- */

/* The value of an environment variable that is set and not empty; NULL: none. */
const char *acr_variable(const char *name);
/* That of the first of these variables (NULL-terminated, or NULL) that has one. */
const char *acr_first_variable(const char *const *names);
#define ACR_STRINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define ACR_KEY_MAX_BYTES (16u * 1024)
#define ACR_KEY_COMMAND_TIMEOUT_MS 60000          /* or what is left of --max-time */
#define ACR_KEY_COMMAND_MAX_OUTPUT (1024u * 1024) /* bytes on either stream; it is ended then */

/*
 * The key that the options' command or file gives; *out_key owned (wiped by acr_wipe), NULL where
 * neither is given. Errors: AUTH (the command fails or prints nothing; the file is missing, may be
 * read by others, or is not a regular file). No error holds anything that was read.
 */
bool acr_key_from_options(const AcrModelOptions *options, char **out_key,
                          GError **error) ACR_MUST_USE;
/* The key in a text, which is changed: without blanks around it, the quotes that files of variables have,
 * and the word Bearer. */
char *acr_key_bare(char *text);
/* Whether a key can stand in a header: AUTH else, naming `source` ("OPENAI_API_KEY"). */
bool acr_key_check(const char *key, const char *source, GError **error) ACR_MUST_USE;

#endif
