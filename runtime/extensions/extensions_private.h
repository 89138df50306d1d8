/* Private to extensions: the process of an extension, and the questions that it may ask during a
 * call. */
#pragma once

#include "base/peer.h"
#include "extensions/extensions.h"
#include "sandbox/tree_cache.h"

/* ---- The process (process.c) ---- */

/* The process of one extension. It is started for the first call; if it ends, it is restarted
 * for the next call. */
typedef struct {
    const AcrExtensionOptions *options;
    const char *path; /* borrowed */
    GBytes *source;   /* contents of the extension's file; borrowed */
    AcrPeer peer;
    AcrTreeCache *cache; /* has the process's working folder */
} AcrExtensionProcess;
void acr_extension_process_clear(AcrExtensionProcess *process);
/* Starts the process, which loads the file. *out (owned) says what the file adds, or is
 * {"error"}. Errors: INTERRUPTED. */
bool acr_extension_process_load(AcrExtensionProcess *process, AcrJson **out,
                                GError **error) ACR_MUST_USE;
/* Calls the function that {"kind", "name", "argument"} describes; meanwhile the extension may
 * use `search` (may be NULL). *out (owned) is the function's answer, or {"error"}. Errors:
 * INTERRUPTED. */
bool acr_extension_process_ask(AcrExtensionProcess *process, const AcrJson *question,
                               AcrSearch *search, AcrJson **out, GError **error) ACR_MUST_USE;

/* Finds the entry point `name` of an installed package, in a separate process. *out (owned) is
 * {"path"} (null if there is none), or {"error"}. Errors: INTERRUPTED. */
bool acr_extension_process_locate(const AcrExtensionOptions *options, const char *name,
                                  AcrJson **out, GError **error) ACR_MUST_USE;

/* ---- Questions of extensions (view.c) ---- */

#define ACR_EXTENSION_MAX_SYMBOLS 10000u /* maximum number of symbols in one answer */
/* Returns the answer to a question of an extension; {"error"} on failure; owned. `search` and
 * `repo` may be NULL. */
AcrJson *acr_extension_view(AcrSearch *search, const char *repo, const AcrJson *asked) ACR_MUST_USE;
