/* Scripted answers: "script:FILE" (scripted_model.c). */
#ifndef ACR_LLM_SCRIPTED_MODEL_H
#define ACR_LLM_SCRIPTED_MODEL_H

#include "llm/llm.h"

#define ACR_SCRIPT_MAX_BYTES (512u * 1024 * 1024) /* of the file */

typedef struct AcrScript AcrScript;
/*
 * Parses a script for one task. `instance_id` and `labels` as in AcrModelOptions, `name` for
 * messages. Owned (acr_script_free). Errors: USAGE (names the line).
 */
AcrScript *acr_script_parse(const char *text, gsize len, const char *name, const char *instance_id,
                            const char *const *labels, GError **error) ACR_MUST_USE;
void acr_script_free(AcrScript *script);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrScript, acr_script_free)
/* The next answer for the request. Errors: USED_UP, EXPECT. */
bool acr_script_answer(AcrScript *script, const AcrModelRequest *request, AcrModelAnswer *out,
                       GError **error) ACR_MUST_USE;
/* Moves on past the line that would have served the request, which a journal has answered. */
void acr_script_skip(AcrScript *script, const AcrModelRequest *request);

/* A model for "script:FILE"; owned (acr_model_free). */
AcrModel *acr_script_model_new(const char *name, const char *path, const AcrModelOptions *options,
                               GError **error) ACR_MUST_USE;

#endif
