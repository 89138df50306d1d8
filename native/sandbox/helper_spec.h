/*
 * Private to sandbox: the spec of what a helper is to do. The host writes an AcrHelperSpec into a
 * file in memory; the helper, a fresh process of the same program, reads it, prepares itself,
 * starts the command and looks after it.
 *
 * Descriptors of the helper: 0-2 the command's; ACR_HELPER_CHANNEL a socket to the host;
 * ACR_HELPER_SPEC the file; ACR_HELPER_STATUS a pipe on which bubblewrap says how the command
 * ended; ACR_HELPER_FILTER what bubblewrap installs before the command, made by the helper.
 */
#ifndef ACR_SANDBOX_HELPER_SPEC_H
#define ACR_SANDBOX_HELPER_SPEC_H

#include "sandbox/sandbox.h"

#define ACR_HELPER_CHANNEL 3
#define ACR_HELPER_SPEC 4
#define ACR_HELPER_STATUS 5
#define ACR_HELPER_FILTER 6
#define ACR_HELPER_HOME "/home/sandbox" /* the user's, in namespaces */
#define ACR_HELPER_FAILED 125           /* its exit code when the command was not reached */

/* A folder of the stage: an empty one, a bind of the source, or a layer of its own over it. */
typedef struct {
    char *at;     /* the folder, made */
    char *source; /* absolute; "": none */
    guint32 mode; /* without a source */
    bool is_overlay;
} AcrHelperMount;

typedef struct {
    char *path;      /* relative to the folder that it is laid into */
    guint32 mode;    /* of git; 0: the file is removed */
    GBytes *content; /* NULL when removed */
} AcrHelperFile;

/* Zero-initialise; all owned. */
typedef struct {
    bool is_plain; /* no namespaces and no stage */
    gint64 parent; /* the host's process id: the helper does not outlive it */
    gint64 uid;    /* to become that user and group, as root; -1: to stay who one is */
    char *stage;   /* a folder, over which a file system in memory is mounted; plain: NULL */
    gint64 stage_bytes;
    GPtrArray *mounts; /* of AcrHelperMount */
    char *files_at;    /* where `files` are laid: a folder of the stage; plain: absolute */
    GPtrArray *files;  /* of AcrHelperFile */
    gint64 cpu_s, file_bytes, processes; /* limits; 0: none */
    char *cwd;                           /* NULL: as it is */
    char *host_name;                     /* of the namespaces; NULL: a fixed one */
    char *group;                         /* file by which a control group is entered; NULL: none */
    GPtrArray *argv, *env;               /* of char * */
} AcrHelperSpec;
void acr_helper_spec_init(AcrHelperSpec *spec);
void acr_helper_spec_clear(AcrHelperSpec *spec);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHelperSpec, acr_helper_spec_clear)
/* Paths are copied. */
void acr_helper_folder(AcrHelperSpec *spec, const char *at, guint32 mode);
void acr_helper_bind(AcrHelperSpec *spec, const char *at, const char *source);
void acr_helper_overlay(AcrHelperSpec *spec, const char *at, const char *source);
void acr_helper_file_free(gpointer file); /* AcrHelperFile * */
/* `content` may be NULL: the file is removed. */
void acr_helper_file(GPtrArray *files, const char *path, guint32 mode, GBytes *content);
/* Appends to argv or env; NULL ends the list. */
void acr_helper_words(GPtrArray *words, ...) G_GNUC_NULL_TERMINATED;

/* The spec as a file in memory, at its beginning; -1 with an error. */
int acr_helper_spec_write(const AcrHelperSpec *spec, GError **error) ACR_MUST_USE;
/* Reads one. Errors: FAILED. */
bool acr_helper_spec_read(int fd, AcrHelperSpec *out, GError **error) ACR_MUST_USE;

#endif
