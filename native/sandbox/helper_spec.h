/* Private to sandbox: the task of a helper, which is a new process of this program. The host writes
 * an AcrHelperSpec to a file in memory. The helper reads the file, prepares itself, starts the
 * command and supervises it.
 *
 * The descriptors of the helper are: 0-2, the command's streams; ACR_HELPER_CHANNEL, a socket to
 * the host; ACR_HELPER_SPEC, the file; ACR_HELPER_STATUS, a pipe on which bubblewrap reports how
 * the command ended; ACR_HELPER_FILTER, the system call filter, which the helper writes and
 * bubblewrap installs before it starts the command. */
#pragma once

#include "sandbox/sandbox.h"

#define ACR_HELPER_CHANNEL 3
#define ACR_HELPER_SPEC 4
#define ACR_HELPER_STATUS 5
#define ACR_HELPER_FILTER 6
#define ACR_HELPER_HOME "/home/sandbox" /* path of the home folder in the sandbox */
#define ACR_HELPER_FAILED 125           /* exit code if the helper did not start the command */

/* A folder of the stage: an empty folder, a bind mount of `source`, or an overlay over `source`. */
typedef struct {
    char *at;     /* the path of the folder, which is created */
    char *source; /* absolute path; "": none */
    char *above;  /* for an overlay: absolute path of a second folder, above `source`; "": none */
    guint32 mode; /* mode of a folder that has no source */
    bool is_overlay;
} AcrHelperMount;

typedef struct {
    char *path;      /* path relative to the folder in which the files are written */
    guint32 mode;    /* git's file mode; 0 if the file must be removed */
    GBytes *content; /* NULL if the file must be removed */
} AcrHelperFile;

/* The helper's task. Zero-initialise. All members are owned. */
typedef struct {
    bool is_plain; /* the backend is "plain": no namespaces and no stage */
    gint64 parent; /* the host's process id; the helper ends when the host ends */
    gint64 uid;    /* user and group to become if the program runs as root; -1: unchanged */
    char *stage;   /* the folder over which the stage is mounted; NULL for "plain" */
    gint64 stage_bytes;
    GPtrArray *mounts; /* array of AcrHelperMount */
    /* the folder in which `files` are written: relative to the stage, or absolute for "plain" */
    char *files_at;
    GPtrArray *files;                    /* array of AcrHelperFile */
    gint64 cpu_s, file_bytes, processes; /* limits; 0: none */
    char *cwd;                           /* working directory; NULL: unchanged */
    char *host_name;                     /* host name in the sandbox; NULL: HOST_NAME */
    /* the file of a control group through which the helper enters the group; NULL if there is
     * none */
    char *group;
    GPtrArray *argv, *env; /* arrays of char * */
} AcrHelperSpec;
void acr_helper_spec_init(AcrHelperSpec *spec);
void acr_helper_spec_clear(AcrHelperSpec *spec);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHelperSpec, acr_helper_spec_clear)
/* Add a folder at `at`: an empty folder, a bind mount of `source`, or an overlay over `source` and,
 * above it, the folder `above` (may be NULL). Paths are copied. */
void acr_helper_folder(AcrHelperSpec *spec, const char *at, guint32 mode);
void acr_helper_bind(AcrHelperSpec *spec, const char *at, const char *source);
void acr_helper_overlay(AcrHelperSpec *spec, const char *at, const char *source, const char *above);
void acr_helper_file_free(gpointer file); /* frees an AcrHelperFile */
/* Appends a file to `files`. If `content` is NULL, the file will be removed. */
void acr_helper_file(GPtrArray *files, const char *path, guint32 mode, GBytes *content);
/* Appends copies of the strings to `words`. NULL ends the list. */
void acr_helper_words(GPtrArray *words, ...) G_GNUC_NULL_TERMINATED;

/* Writes the spec to a file in memory and rewinds the file. Returns its descriptor; -1 with an
 * error. */
int acr_helper_spec_write(const AcrHelperSpec *spec, GError **error) ACR_MUST_USE;
/* Reads a spec from the descriptor `fd`. Errors: FAILED. */
bool acr_helper_spec_read(int fd, AcrHelperSpec *out, GError **error) ACR_MUST_USE;
