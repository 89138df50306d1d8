/* Shared by the files of this folder: filling in prompts, and finding JSON objects in answers. */
#pragma once

#include "agents/agents.h"

#include <stdarg.h>

/* Like acr_prompts_render, with the pairs as an argument list. */
char *acr_prompts_render_list(const AcrPrompts *prompts, AcrPromptId id, va_list args) ACR_MUST_USE;
/* Returns the JSON object in an answer: the whole text or, if the text is no object, the part
 * between its first and last brace. Owned. If there is no object, returns NULL, and *out_problem
 * (owned) says why. */
AcrJson *acr_agents_parse_object(const char *answer, char **out_problem) ACR_MUST_USE;
