/*
 * extensions: the user's own Python files. Each runs in a process of its own (acr-host
 * extension-worker), adds search calls, checks patches and observes what happens in a run.
 *
 * If an extension misbehaves (raises, hangs, ends its process, takes all memory, returns a wrong
 * type), only that one call fails, and one line reports it; after ACR_EXTENSION_MAX_FAILURES
 * failures a function is not called again. If there is a journal, it is asked first: a replay needs
 * no extension.
 */
#ifndef ACR_EXTENSIONS_H
#define ACR_EXTENSIONS_H

#include "base/base.h"
#include "journal/journal.h"
#include "search/search.h"
#include "vcs/vcs.h"

typedef enum {
    /* no such file; a file inside the repository; or it cannot be loaded */
    ACR_EXTENSIONS_ERROR_USAGE,
    ACR_EXTENSIONS_ERROR_INTERRUPTED,
} AcrExtensionsError;
#define ACR_EXTENSIONS_ERROR acr_extensions_error_quark()
GQuark acr_extensions_error_quark(void);

#define ACR_EXTENSION_VERB "extension-worker" /* the verb that starts an extension's process */
#define ACR_EXTENSION_MAX_FAILURES 3u
#define ACR_EXTENSION_MAX_SOURCE (1u * 1024 * 1024) /* largest source file, in bytes */
#define ACR_EXTENSION_MAX_ANSWER (4u * 1024 * 1024) /* largest answer, in bytes */
#define ACR_EXTENSION_MAX_HOOKS 50u                 /* most functions of each kind */
#define ACR_EXTENSION_TIMEOUT_MS 30000              /* default time limit of one call */
/* Environment variables with this prefix, and a few that programs need, are passed on. */
#define ACR_EXTENSION_PREFIX "ACR_EXTENSION_"

/* All borrowed; must outlive the extensions. */
typedef struct {
    const char *const *files; /* NULL-terminated; NULL: none */
    const char *exe;          /* this program; NULL in a replay, which starts no process */
    const char *repo;         /* the repository's folder, for git's history; NULL: unknown */
    gint64 timeout_ms;        /* time limit of one call */
    AcrJournal *journal;      /* NULL: nothing is recorded */
    const AcrInterrupt *interrupt;
    /* an extension that cannot be loaded is reported and listed, and does nothing */
    bool keeps_broken;
    gsize n_own_calls; /* number of built-in calls in its registry, as in acr_calls_new; 0: all */
    bool no_history;   /* its registry lacks search_history */
    void *ctx;
    void (*warn)(void *ctx, const char *line); /* receives a line for the user */
} AcrExtensionOptions;

/* Resolves names of entry points: replaces each path that does not exist and ends in the name of an
 * entry point of the group acr_host.extensions by the file of that package. `files` are owned by
 * the caller. Errors: USAGE, INTERRUPTED. */
bool acr_extensions_locate(char **files, const AcrExtensionOptions *options,
                           GError **error) ACR_MUST_USE;
/* Checks that each file is readable and lies outside `workdir` (NULL: no such folder). Errors:
 * USAGE. */
bool acr_extensions_check_files(const char *const *files, const char *workdir,
                                GError **error) ACR_MUST_USE;

/* The loaded extensions. One thread at a time. NULL means none. */
typedef struct AcrExtensions AcrExtensions;
/* Loads the extensions. Errors: USAGE (one cannot be loaded; not in a replay, nor if broken ones
 * are kept), INTERRUPTED, those of the journal. NULL without an error: there are no files. */
bool acr_extensions_load(const AcrExtensionOptions *options, AcrExtensions **out,
                         GError **error) ACR_MUST_USE;
void acr_extensions_free(AcrExtensions *all);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrExtensions, acr_extensions_free)

/* The registry that includes their search calls; borrowed; NULL without extensions. */
const AcrCalls *acr_extensions_calls(const AcrExtensions *all);
/* [{"file", "version", "calls": [{"name", "summary", "params": [{"name", "type", "about"}]}],
 * "checks": [name], "parsers": [name], "localisers": [name], "sources": [scheme],
 * "prompts": folder (where there is one), "events": [{"kind", "name"}], "tests": [name],
 * "settings": [{"variable", "type", "default", "about"}], "error"}]: "error" alone beside the
 * file where it could not be loaded; owned. */
AcrJson *acr_extensions_describe(const AcrExtensions *all) ACR_MUST_USE;

/*
 * Tells the extensions that observe `event` (see python/acr/extensions.py). `data` is borrowed.
 * *out_note (owned, may be NULL): their notes, or NULL; *out_veto likewise. Errors: INTERRUPTED,
 * those of the journal.
 */
bool acr_extensions_tell(AcrExtensions *all, AcrSearch *search, const char *event,
                         const AcrJson *data, char **out_note, char **out_veto,
                         GError **error) ACR_MUST_USE;
/* Calls their checks with a patch. *out_why (owned): why the patch is wrong; NULL: no check rejects
 * it. Errors: INTERRUPTED, those of the journal and of acr_overlay_read. */
bool acr_extensions_check(AcrExtensions *all, AcrSearch *search, AcrSnapshot *before,
                          const AcrOverlay *after, GBytes *diff, char **out_why,
                          GError **error) ACR_MUST_USE;
/* Calls their localisers with an issue. *out_text (owned): the suspected places, a line each; NULL:
 * none. Errors: INTERRUPTED, those of the journal. */
bool acr_extensions_localise(AcrExtensions *all, AcrSearch *search, const char *issue,
                             char **out_text, GError **error) ACR_MUST_USE;
/* Gets the issue `reference` ("scheme:rest"). *out_text (owned): NULL if no extension has the
 * scheme. Errors: USAGE (why its source failed), INTERRUPTED. */
bool acr_extensions_issue(AcrExtensions *all, const char *reference, char **out_text,
                          GError **error) ACR_MUST_USE;
/* The folder of prompts beside an extension's file: `mine_prompts` for `mine.py`. Owned; NULL:
 * none. */
char *acr_extension_prompts(const char *file) ACR_MUST_USE;
/* A digest of the extension that has the log parser `name`, borrowed; NULL: none has. */
const char *acr_extensions_parser(const AcrExtensions *all, const char *name);
/* Parses the output of tests: *out (owned) is {test: outcome}, or NULL after a failure, which was
 * reported. Thread-safe with itself. Errors: INTERRUPTED. */
bool acr_extensions_parse(AcrExtensions *all, const char *name, const char *output, AcrJson **out,
                          GError **error) ACR_MUST_USE;
/* Runs the test `name` of extension number `i` (as listed). *out_why (owned): why it fails; NULL:
 * it passes. Errors: INTERRUPTED. */
bool acr_extensions_test(AcrExtensions *all, guint i, const char *name, AcrSearch *search,
                         char **out_why, GError **error) ACR_MUST_USE;

#endif
