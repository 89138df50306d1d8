/* What AWS's tools know of their user: keys, region, profile (aws_settings.c). */
#ifndef ACR_LLM_AWS_PRIVATE_H
#define ACR_LLM_AWS_PRIVATE_H

#include "llm/llm_private.h"

/* Both keys or neither; a token only with them. Clearing wipes. */
typedef struct {
    char *access_key, *secret_key; /* owned; NULL: none found */
    char *session_token;           /* owned, or NULL */
    char *region;                  /* owned; NULL: none found. Small letters, digits and "-" */
} AcrAwsSettings;
void acr_aws_settings_clear(AcrAwsSettings *settings);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAwsSettings, acr_aws_settings_clear)

/*
 * From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,
 * AWS_DEFAULT_REGION; what they lack from the profile's section in ~/.aws/credentials and
 * ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE name others). A missing file is an
 * empty one. Errors: AUTH (half a pair of keys; a file that cannot be read), USAGE (no region's
 * name).
 */
bool acr_aws_settings_read(AcrAwsSettings *out, GError **error) ACR_MUST_USE;
/* AWS_PROFILE, AWS_DEFAULT_PROFILE or "default". Borrowed from the environment. */
const char *acr_aws_profile(void);

#endif
