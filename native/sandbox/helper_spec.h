/*
 * Private to sandbox: the spec of a helper's work. The host writes an AcrHelperSpec into a file in
 * memory. The helper, a new process of the same program, reads it, prepares itself, starts the
 * command and supervises it.
 *
 * Descriptors of the helper: 0-2 are the command's; ACR_HELPER_CHANNEL is a socket to the host;
 * ACR_HELPER_SPEC the file; ACR_HELPER_STATUS a pipe on which bubblewrap reports how the command
 * ended; ACR_HELPER_FILTER the filter, made by the helper, that bubblewrap installs before the
 * command.
 */
#ifndef ACR_SANDBOX_HELPER_SPEC_H
#define ACR_SANDBOX_HELPER_SPEC_H

#include "sandbox/sandbox.h"

#define ACR_HELPER_CHANNEL 3
#define ACR_HELPER_SPEC 4
#define ACR_HELPER_STATUS 5
#define ACR_HELPER_FILTER 6
#define ACR_HELPER_HOME "/home/sandbox" /* the user's home, in namespaces */
#define ACR_HELPER_FAILED 125           /* exit code if the helper did not start the command */

/* A folder of the stage: empty, a bind mount of the source, or a layer over it. */
typedef struct {
    char *at;     /* its path, which is created */
    char *source; /* absolute; "": none */
    guint32 mode; /* mode of a folder without source */
    bool is_overlay;
} AcrHelperMount;

typedef struct {
    char *path;      /* relative to the folder that it is written to */
    guint32 mode;    /* git's mode; 0: the file is removed */
    GBytes *content; /* NULL: the file is removed */
} AcrHelperFile;

/* The helper's task. Zero-initialise; all owned. */
typedef struct {
    bool is_plain; /* no namespaces and no stage */
    gint64 parent; /* the host's process id: the helper does not outlive it */
    gint64 uid;    /* as root: user and group to become; -1: unchanged */
    char *stage;   /* the folder over which the stage is mounted; plain: NULL */
    gint64 stage_bytes;
    GPtrArray *mounts; /* array of AcrHelperMount */
    char *files_at;    /* where `files` are written: a folder of the stage; plain: absolute */
    GPtrArray *files;  /* array of AcrHelperFile */
    gint64 cpu_s, file_bytes, processes; /* limits; 0: none */
    char *cwd;                           /* NULL: unchanged */
    char *host_name;                     /* inside the namespaces; NULL: a fixed one */
    char *group;           /* the file through which a control group is entered; NULL: none */
    GPtrArray *argv, *env; /* arrays of char * */
} AcrHelperSpec;
void acr_helper_spec_init(AcrHelperSpec *spec);
void acr_helper_spec_clear(AcrHelperSpec *spec);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHelperSpec, acr_helper_spec_clear)
/* Adds a folder, a bind mount or a layer; paths are copied. */
void acr_helper_folder(AcrHelperSpec *spec, const char *at, guint32 mode);
void acr_helper_bind(AcrHelperSpec *spec, const char *at, const char *source);
void acr_helper_overlay(AcrHelperSpec *spec, const char *at, const char *source);
void acr_helper_file_free(gpointer file); /* AcrHelperFile * */
/* Adds a file; `content` NULL: the file is removed. */
void acr_helper_file(GPtrArray *files, const char *path, guint32 mode, GBytes *content);
/* Appends to argv or env; NULL ends the list. */
void acr_helper_words(GPtrArray *words, ...) G_GNUC_NULL_TERMINATED;

/* Writes the spec to a file in memory, positioned at its beginning; -1 with an error. */
int acr_helper_spec_write(const AcrHelperSpec *spec, GError **error) ACR_MUST_USE;
/* Reads one. Errors: FAILED. */
bool acr_helper_spec_read(int fd, AcrHelperSpec *out, GError **error) ACR_MUST_USE;

#endif
