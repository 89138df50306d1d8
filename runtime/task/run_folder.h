/* run_folder: opens, reads and writes a run folder. The names of its files are in
 * layout/layout.h. */
#pragma once

#include "layout/layout.h"
#include "task/cost.h"
#include "task/task.h"

#define ACR_META_FORMAT 3
/* digests of the given patches; absent if there are none */
#define ACR_META_CANDIDATES "candidates"
/* result of acr_run_spec_place; not compared if an older folder lacks this member */
#define ACR_META_PLACE "place"
#define ACR_META_MAX_BYTES (16u * 1024 * 1024)
/* maximum size that leaves room for a result with a patch */
#define ACR_JSON_FILE_MAX_BYTES ((gsize)256 * 1024 * 1024)

typedef enum {
    ACR_FOLDER_NEW,   /* the run was started, but some of its files are still missing */
    ACR_FOLDER_READY, /* all files exist; the journal may have records */
    ACR_FOLDER_DONE,
} AcrFolderState;

typedef struct {
    char *path;
    AcrLock *lock; /* NULL in a replay */
    AcrFolderState state;
    AcrJson *meta; /* NULL in a new folder */
} AcrFolder;

/* Returns whether `path` is a run folder, in any state. */
bool acr_folder_exists(const char *path);
/* Opens `path` for a run; creates the folder if it is missing. A folder with other contents is
 * rejected (USAGE) and not changed. */
bool acr_folder_open(const char *path, AcrFolder *out, GError **error) ACR_MUST_USE;
/* Opens an existing run folder for reading only. */
bool acr_folder_read(const char *path, AcrFolder *out, GError **error) ACR_MUST_USE;
void acr_folder_clear(AcrFolder *folder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFolder, acr_folder_clear)
/* Returns the path of a file in the run folder; owned (g_free). */
char *acr_folder_path(const AcrFolder *folder, const char *name) ACR_MUST_USE;
/* Fails (USAGE) if a parent folder of a file in the run folder is a link, because such a link in an
 * untrusted run folder could lead out of the folder. */
bool acr_folder_check_parents(const AcrFolder *folder, const char *name,
                              GError **error) ACR_MUST_USE;
/* Writes a file in the run folder; creates its parent folders. Errors: those of
 * acr_folder_check_parents and base. */
bool acr_folder_write(const AcrFolder *folder, const char *name, const void *data, gsize len,
                      GError **error) ACR_MUST_USE;
/* Writes meta.json with the given state. Changes the member "state" of `meta`, which is
 * borrowed. */
bool acr_folder_write_meta(AcrFolder *folder, AcrJson *meta, AcrFolderState state,
                           GError **error) ACR_MUST_USE;
/* Saves, for reports, why the run stopped, if this process has locked the folder. */
void acr_folder_keep_error(const AcrFolder *folder, const char *why);
/* Reads a file of at most `max` bytes in the run folder, never through a link (USAGE); owned.
 * Errors: those of acr_file_read. */
GBytes *acr_folder_read_file(const AcrFolder *folder, const char *name, gsize max,
                             GError **error) ACR_MUST_USE;
/* Reads a JSON file in the run folder; owned. */
AcrJson *acr_folder_read_json(const AcrFolder *folder, const char *name,
                              GError **error) ACR_MUST_USE;

/* ---- Options that a resumed run must repeat (resume_options.c) ---- */

/* Makes the part of meta.json that a resumed run must repeat: {"verb", "options": {…}, "issue":
 * sha256, "prompts": {file: sha256}}; owned. "issue_url" is added, but not compared. */
AcrJson *acr_meta_bound(const AcrRunSpec *spec, const AcrPrompts *prompts) ACR_MUST_USE;
/* The choices that a run makes when it begins and keeps when it is resumed (choices.c). */
typedef struct {
    bool has_tools;    /* models may call the searches as tools */
    bool has_notes;    /* the patch writer sees the repository's notes */
    bool has_examples; /* the issue's examples are run to select among candidates */
    gsize n_calls;     /* number of built-in search calls */
    bool no_history;   /* search_history is not among the calls */
    AcrMay may;
} AcrChoices;
/* Records the choices of a new run in `meta`. */
void acr_choices_record(const AcrRunSpec *spec, bool has_tools, AcrJson *meta);
/* Reads the choices of a run. `meta` is NULL if the run has not begun. */
AcrChoices acr_choices_read(const AcrRunSpec *spec, const AcrJson *meta);
/* Returns a digest of the options that all tasks of a batch must share; owned. */
char *acr_meta_digest(const AcrRunSpec *spec, const AcrPrompts *prompts) ACR_MUST_USE;
/* Compares the recorded part of meta.json with the part of this command. If they differ, fails with
 * USAGE; the message names the first difference and says what to do. */
bool acr_meta_check(const AcrJson *recorded, const AcrJson *given, const char *folder,
                    GError **error) ACR_MUST_USE;
/* Returns the first option with which a run was started differently than `spec`: "with --rounds 15",
 * "without --rounds"; owned; NULL: none. */
char *acr_meta_difference(const AcrJson *recorded, const AcrRunSpec *spec) ACR_MUST_USE;
/* Compares the options given to a batch with those recorded for one of its tasks. Errors: USAGE. */
bool acr_meta_check_batch(const AcrJson *recorded, const AcrRunSpec *batch,
                          GError **error) ACR_MUST_USE;
/* Compares the issue and the commit of the data set's task `id` with those recorded for it. Errors:
 * USAGE. */
bool acr_meta_check_task(const AcrJson *recorded, const char *id, const char *issue,
                         const char *commit, GError **error) ACR_MUST_USE;
/* Adds the version that created the folder to the error's message, if it is another version. */
void acr_meta_name_version(const AcrJson *meta, GError *reason);
/* Reads the options that a resumed run must repeat. Errors: ENVIRONMENT (options are missing, or
 * have wrong types). */
bool acr_meta_read(const AcrJson *meta, AcrRunSpec *out, GError **error) ACR_MUST_USE;

/* ---- The result of a run (result.c) ---- */

/* Writes indented JSON (taken) to the artifact `name`. */
bool acr_artifacts_write_json(const AcrArtifacts *artifacts, const char *name, AcrJson *json,
                              GError **error) ACR_MUST_USE;
/* Completes a result from the outcome of the loops: sets verdict, cost and exit code. */
void acr_result_judge(AcrRunResult *result, const AcrRunSpec *spec, const AcrCostSum *cost);
/* Writes a result: result.json, and either patch.diff and selected_patch.json, or the
 * reproducer. */
bool acr_result_save(const AcrArtifacts *artifacts, const AcrRunResult *result,
                     GError **error) ACR_MUST_USE;
/* Reads the result of a folder; *out is owned. Errors: ENVIRONMENT. */
bool acr_result_read(const AcrFolder *folder, AcrRunResult *out, GError **error) ACR_MUST_USE;

/* ---- Comparing with a replay (compare_replay.c) ---- */

/* Makes the table (path -> GBytes) of the files that a replay would write; owned
 * (g_hash_table_unref). */
GHashTable *acr_replayed_new(void) ACR_MUST_USE;
/* Returns artifacts that write to the table `kept` (borrowed) instead of a folder. */
AcrArtifacts acr_replayed_artifacts(GHashTable *kept);
/* Compares the files of a finished run with the files that a replay would write, at the prices
 * in the run's cost.json. Errors: DIFFERENT (the message names the first file). */
bool acr_replayed_check(const AcrFolder *folder, GHashTable *kept, AcrRunResult *result,
                        AcrCost *cost, GError **error) ACR_MUST_USE;
/* Converts a journal's error to the error of a replay; always returns false. `reason` is taken. */
bool acr_replayed_fail(const AcrFolder *folder, GError *reason, GError **error);

/* ---- Outlines (outlines.c) ---- */

/* Converts the list of files that could not be outlined when the run began, [{"file","why"}] (may
 * be NULL), to a table, path -> why; owned (g_hash_table_unref). */
GHashTable *acr_outlines_listed(const AcrJson *list) ACR_MUST_USE;
/* Makes the list [{"file","why"}] of the files that this process could not outline; owned. */
AcrJson *acr_outlines_failed(const AcrIndex *index) ACR_MUST_USE;
/* Returns false with ENVIRONMENT if `failed` names a file, because a run must not be resumed with
 * another index. */
bool acr_outlines_check(const AcrJson *failed, GError **error) ACR_MUST_USE;

/* ---- Given patches (given_patches.c) ------------- */

/* Reads the patches that the spec names; owned array of GBytes. Errors: USAGE. */
GPtrArray *acr_given_read(const AcrRunSpec *spec, const AcrHost *host, GError **error) ACR_MUST_USE;
/* Checks that each patch applies to the snapshot. Errors: USAGE. */
bool acr_given_check(const GPtrArray *diffs, AcrSnapshot *snapshot, const AcrRunSpec *spec,
                     GError **error) ACR_MUST_USE;
bool acr_given_save(const GPtrArray *diffs, const AcrRunSpec *spec, const AcrFolder *folder,
                    GError **error) ACR_MUST_USE;
/* Adds the digests of the patches to the options that a resumed run must repeat. */
void acr_given_describe(const GPtrArray *diffs, AcrJson *meta);
/* Loads the given patches from the run folder; owned array of AcrOverlay. */
GPtrArray *acr_given_load(const AcrFolder *folder, AcrSnapshot *snapshot,
                          GError **error) ACR_MUST_USE;
