/*
 * base: what several libraries need and none owns. JSON, text encodings, files, locks, child
 * processes, interruption.
 *
 * The four ownership words used in all headers:
 *   owned     the caller frees it, with the function named.
 *   borrowed  valid until the point named; never freed by the receiver.
 *   taken     the callee frees it, also on failure.
 *   shared    reference counted.
 * Outputs are written only on success. Lifecycle functions (free, clear, unref) accept NULL.
 */
#ifndef ACR_BASE_H
#define ACR_BASE_H

#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The macro of newer GLibs measures the whole text first, which is quadratic where each line of a text is asked. */
#undef g_str_has_prefix

typedef enum {
    ACR_BASE_ERROR_FAILED,
    ACR_BASE_ERROR_NOT_FOUND, /* no such file */
    ACR_BASE_ERROR_TOO_BIG,   /* a named ceiling was passed */
    ACR_BASE_ERROR_BUSY,      /* a lock is held by another process */
    ACR_BASE_ERROR_MALFORMED, /* the text is not of its format */
    ACR_BASE_ERROR_NO_SPACE,  /* disk full, quota or read-only file system */
} AcrBaseError;
#define ACR_BASE_ERROR acr_base_error_quark()
GQuark acr_base_error_quark(void);

#define ACR_MUST_USE G_GNUC_WARN_UNUSED_RESULT

/* As g_set_error; returns false, for `return`. */
bool acr_set_error(GError **error, GQuark domain, int code, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* Hands on the error in *from, which then is NULL; returns false, for `return`. */
bool acr_pass_error(GError **error, GError **from);
/* NULL, for `return` of a pointer; `failed` sets the error. */
#define ACR_NULL(failed) ((void)(failed), NULL)

/* The order of two numbers, for functions that compare: below 0, 0 or above. */
static inline int acr_order(guint64 a, guint64 b)
{
    return a < b ? -1 : a > b;
}

/* ---- Interruption ---- */

/* Set by a signal handler, polled by whatever may wait. Zero-initialise. */
typedef struct {
    volatile sig_atomic_t signal;        /* 0, or the number of the signal that came first */
    volatile sig_atomic_t ends_at_alarm; /* SIGALRM is one too: the time that was allowed is over */
} AcrInterrupt;

/* Whether a signal came. NULL: never. Async-signal-safe, thread-safe. */
static inline bool acr_interrupted(const AcrInterrupt *interrupt)
{
    return interrupt && __atomic_load_n(&interrupt->signal, __ATOMIC_RELAXED) != 0;
}

/* Whether what came is the end of the time. */
static inline bool acr_time_is_over(const AcrInterrupt *interrupt)
{
    return interrupt && __atomic_load_n(&interrupt->signal, __ATOMIC_RELAXED) == SIGALRM;
}

/* ---- JSON ---- */

/*
 * A JSON value. Strings are valid UTF-8 without NUL: what a foreign text escapes as \u0000 or as a
 * lone surrogate is read as U+FFFD. Numbers are doubles; integers are exact up to 2^53.
 */
typedef struct AcrJson AcrJson;

#define ACR_JSON_MAX_DEPTH 200
#define ACR_JSON_MAX_BYTES (256u * 1024 * 1024)
#define ACR_JSON_MAX_VALUES 8000000 /* each takes some 80 bytes, however short its text */

typedef enum {
    ACR_JSON_NULL,
    ACR_JSON_BOOL,
    ACR_JSON_NUMBER,
    ACR_JSON_STRING,
    ACR_JSON_ARRAY,
    ACR_JSON_OBJECT,
} AcrJsonType;

/*
 * Parses one JSON value; nothing but white space may follow. Returns owned (acr_json_free) or NULL.
 * Of members with the same name the last counts. Errors: MALFORMED (with the byte offset), TOO_BIG
 * (bytes, depth or values). Bytes that are not UTF-8 are MALFORMED.
 */
AcrJson *acr_json_parse(const char *text, gsize len, GError **error) ACR_MUST_USE;
/* Likewise of what was read; of NULL (it could not be, and *error says why) NULL. */
AcrJson *acr_json_parse_bytes(GBytes *bytes, GError **error) ACR_MUST_USE;
/*
 * Reads JSON lines: gives each line that is not blank to `take`, with its number from 1, until that
 * returns false. `name`: what errors call the text. Errors: those of acr_json_parse, naming the line, and
 * of `take`.
 */
bool acr_json_lines(const char *text, gsize len, const char *name,
                    bool (*take)(void *ctx, const AcrJson *line, guint number, GError **error),
                    void *ctx, GError **error) ACR_MUST_USE;
void acr_json_free(AcrJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrJson, acr_json_free)
AcrJson *acr_json_copy(const AcrJson *json) ACR_MUST_USE; /* owned */

/* The version of cJSON; static. */
const char *acr_json_library(void);

/* One line, no spaces; owned (g_free). Keys stand in the order they were set. */
char *acr_json_print(const AcrJson *json) ACR_MUST_USE;
/* Indented, for files that people read; ends in a newline; owned (g_free). */
char *acr_json_print_pretty(const AcrJson *json) ACR_MUST_USE;

AcrJson *acr_json_new_object(void) ACR_MUST_USE;
AcrJson *acr_json_new_array(void) ACR_MUST_USE;
AcrJson *acr_json_new_null(void) ACR_MUST_USE;
AcrJson *acr_json_new_bool(bool value) ACR_MUST_USE;
AcrJson *acr_json_new_int(gint64 value) ACR_MUST_USE;
AcrJson *acr_json_new_double(double value) ACR_MUST_USE;
/* NULL gives null. Text that is not valid UTF-8 becomes {"base64": "…"}, as everywhere in the
 * program's JSON. */
AcrJson *acr_json_new_string(const char *text) ACR_MUST_USE;
/* As acr_json_new_string for any bytes: a NUL inside also makes {"base64": "…"}. */
AcrJson *acr_json_new_bytes(const void *data, gsize len) ACR_MUST_USE;
AcrJson *acr_json_new_gbytes(GBytes *bytes) ACR_MUST_USE; /* likewise */
/* An array of NULL-terminated `texts` (may be NULL). */
AcrJson *acr_json_new_strings(const char *const *texts) ACR_MUST_USE;
AcrJson *acr_json_new_texts(const GPtrArray *texts) ACR_MUST_USE; /* likewise, by their count */

/* Sets or replaces a member (value taken); `object` must be an object. Keys are repaired to valid
 * UTF-8. O(members). */
void acr_json_set(AcrJson *object, const char *key, AcrJson *value);
void acr_json_set_string(AcrJson *object, const char *key, const char *text);
void acr_json_set_int(AcrJson *object, const char *key, gint64 value);
void acr_json_set_bool(AcrJson *object, const char *key, bool value);
void acr_json_append(AcrJson *array, AcrJson *value); /* value taken */

/* An object of pairs of a key and an AcrJson (taken; NULL leaves the pair out), ended by NULL. */
AcrJson *acr_json_of(const char *key, ...) G_GNUC_NULL_TERMINATED ACR_MUST_USE;
/* The same at the end of a list, which owns it; the object, borrowed. */
#define acr_json_add(list, ...) acr_json_added(list, acr_json_of(__VA_ARGS__, NULL))
AcrJson *acr_json_added(AcrJson *list, AcrJson *object);
#define ACR_TEXT(text) acr_json_new_string(text)
/* The string of a member, null where it has none. */
#define ACR_MEMBER(object, key) acr_json_new_string(acr_json_get_string(object, key))

AcrJsonType acr_json_type(const AcrJson *json); /* NULL counts as ACR_JSON_NULL */
/* The member of that name, borrowed until `object` changes; NULL if absent or `object` is
 * not an object. Case-sensitive. */
const AcrJson *acr_json_get(const AcrJson *object, const char *key);
/* The member's text, borrowed; NULL if absent or not a string. */
const char *acr_json_get_string(const AcrJson *object, const char *key);
/* The bytes of a string or of {"base64": "…"}; owned (g_bytes_unref); NULL if neither, or bad base64.
 */
GBytes *acr_json_bytes(const AcrJson *json) ACR_MUST_USE;
GBytes *acr_json_get_bytes(const AcrJson *object, const char *key) ACR_MUST_USE; /* of a member */
/* Integers: `otherwise` also for a number with a fraction or beyond 64 bits. */
gint64 acr_json_get_int(const AcrJson *object, const char *key, gint64 otherwise);
double acr_json_get_double(const AcrJson *object, const char *key, double otherwise);
bool acr_json_get_bool(const AcrJson *object, const char *key, bool otherwise);
const char *acr_json_string(const AcrJson *json); /* borrowed; NULL if not a string */
gint64 acr_json_int(const AcrJson *json, gint64 otherwise);
bool acr_json_bool(const AcrJson *json);  /* false if not a truth value */
gsize acr_json_size(const AcrJson *json); /* members or elements; 0 for other types; O(n) */
/* Iterates elements or members: first child, then next sibling; borrowed. acr_json_key gives a
 * member's name. */
const AcrJson *acr_json_first(const AcrJson *json);
const AcrJson *acr_json_next(const AcrJson *child);
const char *acr_json_key(const AcrJson *member);
/* Deep equality; members named `ignore` (may be NULL) are left out on both sides, at every depth.
 * The order of members is ignored. */
bool acr_json_equal(const AcrJson *a, const AcrJson *b, const char *ignore);

/* ---- Text ---- */

/* Valid UTF-8 without NUL. */
bool acr_utf8_is_text(const void *data, gsize len);
/* A copy in which each invalid byte, and each NUL, is replaced by U+FFFD; owned (g_free). */
char *acr_utf8_repair(const void *data, gsize len) ACR_MUST_USE;
char *acr_utf8_repair_bytes(GBytes *bytes) ACR_MUST_USE; /* likewise */
/* The bytes up to the first NUL as a C string; "" for NULL; owned (g_free). */
char *acr_bytes_text(GBytes *bytes) ACR_MUST_USE;

/*
 * The text of a source file as Python reads it: BOM taken off, decoded by its PEP 263 cookie, else
 * as UTF-8, else (when that fails) as latin-1, so that every byte sequence has a text. Line endings
 * stay as they are.
 */
typedef struct {
    char *text;     /* owned; UTF-8, NUL-terminated; without NUL: files that hold one are
                       `binary` */
    gsize len;      /* bytes of `text` */
    char *encoding; /* owned; canonical lower-case name, e.g. "utf-8", "latin-1", "cp1252" */
    bool bom;       /* the file began with the UTF-8 mark */
    bool exact;     /* encoding `text` again (acr_text_encode) gives the file's bytes */
    bool binary;    /* holds a NUL byte: `text` is the repaired form, for display only */
} AcrText;

void acr_text_decode(const void *data, gsize len, AcrText *out);
/* Whether the text of such a file is its bytes as they are: no mark, no NUL, valid UTF-8 and no
 * cookie that says otherwise. */
bool acr_text_is_plain(const void *data, gsize len);
void acr_text_clear(AcrText *text);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrText, acr_text_clear)
/* Encodes UTF-8 `text` as `like` was encoded, BOM included; owned (g_bytes_unref). Errors: FAILED
 * (no such character there). */
GBytes *acr_text_encode(const AcrText *like, const char *text, gsize len,
                        GError **error) ACR_MUST_USE;

/*
 * Byte offsets at which lines begin in `text`; LF, CRLF and CR end a line, as in Python's ast (form
 * feeds do not). Element 0 is 0; a text that ends in a line end has no empty last line. Owned
 * (g_array_unref) array of gsize, with one extra last element: `len`. So line N (1-based) is
 * [starts[N-1], starts[N]), its line end included.
 */
GArray *acr_text_lines(const char *text, gsize len) ACR_MUST_USE;

/* `text` as a person may see it on a terminal: control characters but line feed and tab (C0, DEL, C1),
 * and those that turn the direction of text, as "\u" and four digits, as in JSON; what is not UTF-8 as
 * U+FFFD; owned (g_free). */
char *acr_text_visible(const char *text) ACR_MUST_USE;
/* `text` with its middle left out and said so, when it is longer than `max` bytes; cut at UTF-8
 * borders; owned (g_free). */
char *acr_text_shorten(const char *text, gsize max) ACR_MUST_USE;
/*
 * The answer in a model's text, without what the model thought aloud before it or between its parts
 * (<think>…</think> and other tags, also without the opening one, special tokens, channels); owned
 * (g_free). A text without thoughts comes back as it is; one of nothing but thoughts gives "".
 *   out_thoughts  owned (g_free); the thoughts without their marks, parted by empty lines; NULL: none
 * Marks in fences and between the marks of an edit are code. Linear.
 */
char *acr_thoughts_split(const char *text, char **out_thoughts) ACR_MUST_USE;
/* `text` as a JSON string, its middle left out as above, for messages; owned (g_free). */
char *acr_text_quote(const char *text, gsize max) ACR_MUST_USE;

/* ---- Files ---- */

/*
 * Opens a regular file for reading: `name` in an open folder (AT_FDCWD: a path), with `follow` also by a
 * link in its place. Waits for nobody: not for the writer of a FIFO, nor for a device. -1 with errno;
 * EISDIR, EINVAL: it is not a regular file. Whatever a repository or a run folder names is opened by this.
 */
int acr_file_open(int folder, const char *name, bool follow) ACR_MUST_USE;
/* Reads a regular file of at most `max` bytes; owned. Errors: NOT_FOUND, TOO_BIG, FAILED (a folder,
 * no permission). */
GBytes *acr_file_read(const char *path, gsize max, GError **error) ACR_MUST_USE;
/* As acr_file_read of a file that is open, from where it stands. */
GBytes *acr_fd_read_file(int fd, const char *path, gsize max, GError **error) ACR_MUST_USE;
/*
 * Writes by temporary file in the same folder, fsync, rename, fsync of the folder: after a crash
 * the old or the new file is there, whole. `mode` as for chmod (0 = 0644). Errors: NOT_FOUND (no
 * such folder), NO_SPACE, FAILED.
 */
bool acr_file_write_atomic(const char *path, const void *data, gsize len, mode_t mode,
                           GError **error) ACR_MUST_USE;
/* As acr_file_write_atomic of the file `name` in an open folder; `path` is what errors call it. A link
 * at that name is replaced. */
bool acr_file_write_atomic_at(int folder, const char *name, const char *path, const void *data,
                              gsize len, mode_t mode, GError **error) ACR_MUST_USE;
/* As acr_file_write_atomic_at without waiting for the disk: for what nobody misses after a crash, which may
 * leave it empty. */
bool acr_file_replace_at(int folder, const char *name, const char *path, const void *data,
                         gsize len, mode_t mode, GError **error) ACR_MUST_USE;
/*
 * Opens the folder that holds `name` (a relative path, of any depth) below an open one, never through
 * a link. -1 with errno; ELOOP: a part is not a folder. `make`: missing folders are made, for their
 * owner alone.
 */
int acr_dir_open_beneath(int folder, const char *name, bool make) ACR_MUST_USE;
/*
 * Reads a descriptor to its end, of at most `max` bytes; owned. `timeout_ms` 0: however long it
 * takes; an interrupt (may be NULL) is seen within a tenth of a second. `name` is what errors call
 * it. Errors: TOO_BIG, FAILED (also: timed out, interrupted).
 */
GBytes *acr_fd_read_all(int fd, const char *name, gsize max, gint64 timeout_ms,
                        const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
/* Closes `*fd` unless it is -1, which it then is. Keeps errno. */
void acr_fd_close(int *fd);

#define ACR_AUTO_FD __attribute__((cleanup(acr_fd_close))) int

/* Writes all of `data`, however often the kernel takes only a part. Returns 0 or an errno. */
int acr_fd_write_all(int fd, const void *data, gsize len) ACR_MUST_USE;
/* The path without symlinks where it exists, else made absolute, so that any spelling of it is the
 * same; owned (g_free). */
char *acr_path_real(const char *path) ACR_MUST_USE;
/* Whether a path is `folder` (NULL: never) or lies below it, by their spelling. */
bool acr_path_is_below(const char *path, const char *folder);
/* Whether a file name is one of acr_file_write_atomic's temporary ones, as a kill can leave them.
 */
bool acr_file_is_temporary(const char *name);
/* mkdir -p. Errors: NO_SPACE, FAILED (names the path). */
bool acr_dir_make(const char *path, GError **error) ACR_MUST_USE;
/* Whether the open folder or file is a mount point; false where that is not known. */
bool acr_fd_is_mount(int fd);
/* Removes a tree that this program made; never follows symlinks; fails at what is mounted in it. A
 * missing tree is success. */
bool acr_dir_remove(const char *path, GError **error) ACR_MUST_USE;
/* fsyncs a folder, so that names made in it survive a crash. */
bool acr_dir_sync(const char *path, GError **error) ACR_MUST_USE;

/* An exclusive lock on a file (made if missing), held until freed or the process ends. */
typedef struct AcrLock AcrLock;
AcrLock *acr_lock_take(const char *path, GError **error)
    ACR_MUST_USE; /* owned; errors: BUSY (says the holder's pid), FAILED */
void acr_lock_free(AcrLock *lock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLock, acr_lock_free)

/* Lower-case hex SHA-256; owned (g_free). */
char *acr_sha256_hex(const void *data, gsize len) ACR_MUST_USE;
char *acr_sha256_bytes(GBytes *bytes) ACR_MUST_USE; /* likewise */

/* A secret that nobody can guess: 40 hexadecimal digits, of 160 random bits; owned (g_free). */
char *acr_token_new(void) ACR_MUST_USE;
/* Whether `given` (may be NULL) is the token, in a time that does not depend on how much is right. */
bool acr_token_equal(const char *token, const char *given);

/* No process of ours, nor any that it starts, leaves a core behind. Errors: FAILED. */
bool acr_forbid_cores(GError **error) ACR_MUST_USE;

/* ---- Processes that own what is on disk ---- */

/* A process by the machine's boot, its number and its time of start, so that neither a restart of
 * the machine nor a reused number is mistaken for it. */
typedef struct {
    gint64 pid, start; /* start: clock ticks since boot; 0: unknown */
    char boot[40];     /* the boot's id; "": unknown */
} AcrOwner;
void acr_owner_self(AcrOwner *out);
/* Whether it still runs; assumed to, where the system does not say. `self` as of acr_owner_self. */
bool acr_owner_is_alive(const AcrOwner *owner, const AcrOwner *self);

/* ---- Child processes ---- */

/* The program that a name without a slash means: the first in the absolute folders of PATH, never one
 * of the current folder, which may be a stranger's repository. Owned (g_free); NULL: there is none. */
char *acr_program_find(const char *name) ACR_MUST_USE;

/* The two ends of a stream that may be long: its first bytes and its last ones. */
typedef struct {
    GByteArray *head, *tail; /* the tail: at least its last bytes, at most twice as many */
    gsize head_limit, tail_limit;
    guint64 total; /* bytes that were added */
} AcrEnds;
/* `limit`: bytes kept; with `keep_tail` half of them of the end, else all of the beginning. */
void acr_ends_init(AcrEnds *ends, gsize limit, bool keep_tail);
void acr_ends_add(AcrEnds *ends, const void *data, gsize len);
/* What was kept; owned (g_bytes_unref). `ends` is cleared, but for `total`. */
GBytes *acr_ends_finish(AcrEnds *ends) ACR_MUST_USE;

#define ACR_SPAWN_MAX_FDS 8u

/* What to run. Zero-initialise; argv is all that is needed. All borrowed for the call. */
typedef struct {
    const char *const
        *argv; /* NULL-terminated; argv[0] without a slash is looked up by acr_program_find */
    const char *const *envp; /* NULL-terminated NAME=VALUE; NULL: this process's environment */
    const char *cwd;         /* NULL: this process's */
    const void *input;       /* bytes for standard input; NULL: /dev/null */
    gsize input_len;
    bool inherit_input; /* this process's standard input is its, in place of `input` */
    gint64 timeout_ms;  /* 0: none; at the deadline the whole process group is killed */
    gsize
        output_limit; /* bytes kept of each stream; 0: 16 MiB; what passes it is read and dropped */
    gint64 soft_ms;   /* from the SIGTERM that ends it early to the SIGKILL of its group; 0: SIGKILL
                       at once */
    bool keep_ends;   /* of a longer stream its first half-limit and its last half-limit bytes are
                       kept, not its beginning only */
    guint64 flood_limit; /* a stream that is longer ends the command; 0: none is */
    const int *fds; /* more descriptors for it, which become 3, 4, …; up to ACR_SPAWN_MAX_FDS */
    gsize n_fds;
    /* Given each piece of output as it comes, whatever is kept of it. May be NULL. */
    void (*on_output)(void *ctx, bool is_stderr, const char *data, gsize len);
    /* Asked some twenty times a second, with the process's id; false ends the command. May be NULL.
     */
    bool (*watch)(void *ctx, pid_t pid);
    void *ctx; /* of both */
    const AcrInterrupt *interrupt;
} AcrSpawn;

typedef struct {
    int exit_code; /* 0-255, or -1 when a signal ended it */
    int signal;    /* the signal, or 0 */
    bool timed_out;
    bool interrupted;
    bool flooded;                 /* by flood_limit */
    bool unwatched;               /* by `watch` */
    GBytes *out, *err;            /* owned; at most output_limit bytes */
    guint64 out_total, err_total; /* bytes written, dropped ones included */
    gint64 wall_ms;
} AcrSpawnResult;

/*
 * Runs a command in a process group of its own by posix_spawn and waits for it. True whenever it
 * was started, whatever its exit code. Errors: NOT_FOUND (no such program), FAILED. Thread-safe.
 */
bool acr_spawn_run(const AcrSpawn *spawn, AcrSpawnResult *out, GError **error) ACR_MUST_USE;
void acr_spawn_result_clear(AcrSpawnResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSpawnResult, acr_spawn_result_clear)

/* ---- library.c ---- */

typedef struct {
    const char *name;
    gsize at; /* in the table */
} AcrLibraryFunction;

/* A shared library that is not linked; `package` is Debian's, `scope` RTLD_LOCAL or RTLD_GLOBAL. What
 * goes wrong is an error of `domain` and `code`. */
typedef struct {
    const char *file, *package;
    const AcrLibraryFunction *functions;
    gsize n;
    int scope;
    GQuark domain;
    int code;
} AcrLibrary;

/* Fills a table of its functions, once. It stays until the process ends. */
bool acr_library_load(const AcrLibrary *library, void *table, GError **error) ACR_MUST_USE;

#endif
