/* Scripted answers: "script:FILE" (scripted_model.c). */
#ifndef ACR_LLM_SCRIPTED_MODEL_H
#define ACR_LLM_SCRIPTED_MODEL_H

#include "llm/llm.h"

#define ACR_SCRIPT_MAX_BYTES (512u * 1024 * 1024) /* bytes of the file */

/* A model that answers from a script's text; its name and its messages contain `path`. Owned
 * (acr_model_free). Errors: USAGE (names the line); calls fail with USED_UP or EXPECT. */
AcrModel *acr_script_parse(const char *text, gsize len, const char *path,
                           const AcrModelOptions *options, GError **error) ACR_MUST_USE;
/* The same for a file. */
AcrModel *acr_script_model_new(const char *path, const AcrModelOptions *options,
                               GError **error) ACR_MUST_USE;

#endif
