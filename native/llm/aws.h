/* AWS: a user's credentials and region (aws_credentials.c), signatures of requests (sigv4.c). */
#ifndef ACR_LLM_AWS_H
#define ACR_LLM_AWS_H

#include "llm/llm.h"

/* Both keys or neither; a token only with them. Clearing wipes. */
typedef struct {
    char *access_key, *secret_key; /* owned; NULL: none found */
    char *session_token;           /* owned, or NULL */
    char *region;                  /* owned; NULL: none found. Small letters, digits and "-" */
} AcrAwsCredentials;
void acr_aws_credentials_clear(AcrAwsCredentials *credentials);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAwsCredentials, acr_aws_credentials_clear)

/*
 * From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,
 * AWS_DEFAULT_REGION; what they lack from the profile's section in ~/.aws/credentials and
 * ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE name others). A missing file is an
 * empty one. Errors: AUTH (half a pair of keys; a file that cannot be read), USAGE (no region's
 * name).
 */
bool acr_aws_credentials_read(AcrAwsCredentials *out, GError **error) ACR_MUST_USE;
/* AWS_PROFILE, AWS_DEFAULT_PROFILE or "default". Borrowed from the environment. */
const char *acr_aws_profile(void);

/*
 * Appends X-Amz-Date, X-Amz-Security-Token and Authorization of AWS Signature Version 4 (owned
 * strings) for a POST of JSON to `url`, which has no query. `now_unix` in seconds. Pure.
 */
void acr_sigv4_sign(const AcrAwsCredentials *keys, const char *service, const char *url,
                    const char *content_type, const void *body, gsize len, gint64 now_unix,
                    GPtrArray *out_headers);

#endif
