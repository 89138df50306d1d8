/*
 * run_folder: opens, reads and writes a run folder. layout/layout.h names its files.
 */
#ifndef ACR_RUN_FOLDER_H
#define ACR_RUN_FOLDER_H

#include "layout/layout.h"
#include "task/cost.h"
#include "task/task.h"

#define ACR_META_FORMAT 3
#define ACR_META_CANDIDATES "candidates" /* digests of patches from elsewhere; absent: none */
#define ACR_META_PLACE "place" /* acr_run_spec_place; absent in older folders, so not compared */
#define ACR_META_MAX_BYTES (16u * 1024 * 1024)
/* large enough for a result that contains a patch */
#define ACR_JSON_FILE_MAX_BYTES ((gsize)256 * 1024 * 1024)

typedef enum {
    ACR_FOLDER_NEW,   /* started, but some files that the run needs are missing */
    ACR_FOLDER_READY, /* complete; the journal may have records */
    ACR_FOLDER_DONE,
} AcrFolderState;

typedef struct {
    char *path;
    AcrLock *lock; /* NULL in a replay */
    AcrFolderState state;
    AcrJson *meta; /* NULL in a new folder */
} AcrFolder;

/* Whether `path` is a run folder, in any state. */
bool acr_folder_exists(const char *path);
/* Opens `path` for a run and makes it if it is missing. A folder with other contents is rejected
 * (USAGE) and not touched. */
bool acr_folder_open(const char *path, AcrFolder *out, GError **error) ACR_MUST_USE;
/* Opens an existing run folder for reading only. */
bool acr_folder_read(const char *path, AcrFolder *out, GError **error) ACR_MUST_USE;
void acr_folder_clear(AcrFolder *folder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrFolder, acr_folder_clear)
/* The path of a file in the run folder; owned (g_free). */
char *acr_folder_path(const AcrFolder *folder, const char *name) ACR_MUST_USE;
/* Checks that no folder on the way to a file in the run folder is a link (USAGE): a run folder from
 * elsewhere could point outside itself. */
bool acr_folder_check_parents(const AcrFolder *folder, const char *name,
                              GError **error) ACR_MUST_USE;
/* Writes a file in the run folder and makes its parent folders. Errors: as above, and those of
 * base. */
bool acr_folder_write(const AcrFolder *folder, const char *name, const void *data, gsize len,
                      GError **error) ACR_MUST_USE;
/* Writes meta.json with the given state. Changes the member "state" of `meta`, which is
 * borrowed. */
bool acr_folder_write_meta(AcrFolder *folder, AcrJson *meta, AcrFolderState state,
                           GError **error) ACR_MUST_USE;
/* Reads a file of at most `max` bytes in the run folder, never through a link (USAGE); owned.
 * Errors: those of acr_file_read. */
GBytes *acr_folder_read_file(const AcrFolder *folder, const char *name, gsize max,
                             GError **error) ACR_MUST_USE;
/* Reads a JSON file in the run folder; owned. */
AcrJson *acr_folder_read_json(const AcrFolder *folder, const char *name,
                              GError **error) ACR_MUST_USE;

/* ---- What it is bound to (resume_options.c) ---- */

/* The part of meta.json that a resumed run must repeat: {"verb", "options": {…}, "issue": sha256,
 * "prompts": {file: sha256}}; also "issue_url", which is not compared. */
AcrJson *acr_meta_bound(const AcrRunSpec *spec, const AcrPrompts *prompts) ACR_MUST_USE;
/* What a run decides when it begins and keeps when it is resumed (choices.c). */
typedef struct {
    bool has_tools;    /* the models may call the searches as tools */
    bool has_notes;    /* the patch writer is shown the repository's notes */
    bool has_examples; /* the choice among candidates runs the examples in the issue */
    gsize n_calls;     /* number of built-in search calls */
    bool no_history;   /* search_history is none of them */
    AcrMay may;
} AcrChoices;
/* Records the choices of a new run. */
void acr_choices_record(const AcrRunSpec *spec, bool has_tools, AcrJson *meta);
/* `meta` NULL: there is no run yet. */
AcrChoices acr_choices_read(const AcrRunSpec *spec, const AcrJson *meta);
/* A digest of what all tasks of a batch must have in common; owned. */
char *acr_meta_digest(const AcrRunSpec *spec, const AcrPrompts *prompts) ACR_MUST_USE;
/* Whether both are equal; otherwise USAGE, naming the first different field and what to do. */
bool acr_meta_check(const AcrJson *recorded, const AcrJson *given, const char *folder,
                    GError **error) ACR_MUST_USE;
/* Adds to an error's message which version made the folder, if it is not this one. */
void acr_meta_name_version(const AcrJson *meta, GError *reason);
/* Reads the options that a resumed run must repeat. Errors: ENVIRONMENT (missing, or of wrong
 * types). */
bool acr_meta_read(const AcrJson *meta, AcrRunSpec *out, GError **error) ACR_MUST_USE;

/* ---- Its result (result.c) ---- */

/* Writes indented JSON (taken). */
bool acr_artifacts_write_json(const AcrArtifacts *artifacts, const char *name, AcrJson *json,
                              GError **error) ACR_MUST_USE;
/* Completes a result from the loops' outcome. */
void acr_result_judge(AcrRunResult *result, const AcrRunSpec *spec, const AcrCostSum *cost);
/* Writes a result: result.json, and patch.diff with selected_patch.json, or the reproducer. */
bool acr_result_save(const AcrArtifacts *artifacts, const AcrRunResult *result,
                     GError **error) ACR_MUST_USE;
/* Reads the result of a folder. *out owned. Errors: ENVIRONMENT. */
bool acr_result_read(const AcrFolder *folder, AcrRunResult *out, GError **error) ACR_MUST_USE;

/* ---- A replay beside it (compare_replay.c) ---- */

/* A replay writes nothing. What it would write is kept in a table path -> GBytes; owned
 * (g_hash_table_unref). */
GHashTable *acr_replayed_new(void) ACR_MUST_USE;
/* Artifacts that write into that table; `kept` is borrowed. */
AcrArtifacts acr_replayed_artifacts(GHashTable *kept);
/* Compares the files of a finished run with what it would write now, at the prices that its
 * cost.json records. Errors: DIFFERENT, naming the first file. */
bool acr_replayed_check(const AcrFolder *folder, GHashTable *kept, AcrRunResult *result,
                        const AcrCost *cost, GError **error) ACR_MUST_USE;
/* Converts a journal's error to the error of a replay; false. `reason` is taken. */
bool acr_replayed_fail(const AcrFolder *folder, GError *reason, GError **error);

/* ---- Outlines (outlines.c) ---- */

/* Reads the files on which the outliner failed when the run began, from an array [{"file","why"}]
 * (NULL: empty): path -> why; owned (g_hash_table_unref). */
GHashTable *acr_outlines_listed(const AcrJson *list) ACR_MUST_USE;
/* Makes such an array from the files on which the outliner has failed in this process. */
AcrJson *acr_outlines_failed(const AcrIndex *index) ACR_MUST_USE;
/* False with ENVIRONMENT if the array names a file: a run is never resumed with another index. */
bool acr_outlines_check(const AcrJson *failed, GError **error) ACR_MUST_USE;

/* ---- Patches from elsewhere (given_patches.c) ---- */

/* Reads the patch files that the spec names, as GBytes; owned. Errors: those of acr_file_read. */
GPtrArray *acr_given_read(const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* Whether each patch applies to the snapshot. Errors: USAGE. */
bool acr_given_check(const GPtrArray *diffs, AcrSnapshot *snapshot, const AcrRunSpec *spec,
                     GError **error) ACR_MUST_USE;
bool acr_given_save(const GPtrArray *diffs, const AcrFolder *folder, GError **error) ACR_MUST_USE;
/* Adds the patches' digests to what a resumed run must repeat. */
void acr_given_describe(const GPtrArray *diffs, AcrJson *meta);
/* Loads the patches that the run folder keeps, as AcrOverlay; owned. */
GPtrArray *acr_given_load(const AcrFolder *folder, AcrSnapshot *snapshot,
                          GError **error) ACR_MUST_USE;

#endif
