/* AWS: a user's credentials and region (aws_credentials.c), and signatures of requests
 * (sigv4.c). */
#ifndef ACR_LLM_AWS_H
#define ACR_LLM_AWS_H

#include "llm/llm.h"

/* Has both keys or neither; a session token only with keys. Clearing wipes them. */
typedef struct {
    char *access_key, *secret_key; /* owned; NULL: none found */
    char *session_token;           /* owned, or NULL */
    char *region;                  /* owned; NULL: not found; lower-case letters, digits and "-" */
} AcrAwsCredentials;
void acr_aws_credentials_clear(AcrAwsCredentials *credentials);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAwsCredentials, acr_aws_credentials_clear)

/*
 * Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and
 * AWS_DEFAULT_REGION. What is missing there comes from the profile's section in ~/.aws/credentials
 * and ~/.aws/config (or the files that AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name). A
 * missing file counts as empty. Errors: AUTH (half a pair of keys; an unreadable file), USAGE (an
 * invalid region name).
 */
bool acr_aws_credentials_read(AcrAwsCredentials *out, GError **error) ACR_MUST_USE;
/* AWS_PROFILE, AWS_DEFAULT_PROFILE or "default". Borrowed from the environment. */
const char *acr_aws_profile(void);

/*
 * Signs a POST of JSON to `url`, which has no query: appends X-Amz-Date, X-Amz-Security-Token and
 * Authorization of AWS Signature Version 4 (owned strings). `now_unix` in seconds. Pure.
 */
void acr_sigv4_sign(const AcrAwsCredentials *keys, const char *service, const char *url,
                    const char *content_type, const void *body, gsize len, gint64 now_unix,
                    GPtrArray *out_headers);

#endif
