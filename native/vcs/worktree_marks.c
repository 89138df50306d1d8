/* Tells whether a working tree has changed since a snapshot of it was taken, without reading a file
 * again. The walk records a mark of each folder that it lists and of each file that it takes: a
 * hash of the file system's data on it (inode, size, mode, times). Any addition, removal or write
 * changes a mark; a new name changes the mark of its folder.
 *
 * Time stamps have limited resolution: if a file changed just before the walk, a later change could
 * leave the same mark. Such a snapshot is not settled, and never counts as current. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vcs_private.h"

#define NS_PER_S 1000000000ll
/* time before the walk in which a change makes the marks unsettled; must exceed a tick of the
 * kernel's clock */
#define FINE_GRAIN_NS (20ll * 1000 * 1000)
#define MAX_LOOKERS 8u /* maximum number of threads that check marks */
/* minimum number of marks for each thread */
#define MIN_LOOK 500u
/* as FINE_GRAIN_NS, for file systems that store times in whole seconds */
#define COARSE_GRAIN_NS (2 * NS_PER_S)

typedef struct {
    const char *path; /* path relative to the working tree; owned by `paths` */
    guint64 hash;
} Mark;

struct AcrVcsMarks {
    GStringChunk *paths;
    GArray *marks; /* array of Mark */
    gint64 start_ns;
    bool unsettled;
};

AcrVcsMarks *acr_vcs_marks_new(void)
{
    AcrVcsMarks *marks = g_new0(AcrVcsMarks, 1);
    struct timespec now;
    marks->paths = g_string_chunk_new(16 * 1024);
    marks->marks = g_array_new(FALSE, FALSE, sizeof(Mark));
    clock_gettime(CLOCK_REALTIME, &now);
    marks->start_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
    return marks;
}

void acr_vcs_marks_free(AcrVcsMarks *marks)
{
    if (!marks)
        return;
    g_string_chunk_free(marks->paths);
    g_array_unref(marks->marks);
    g_free(marks);
}

/* Returns a hash of the file system's data on a path. */
static guint64 hash_of(const struct stat *st)
{
    /* the FNV-1a hash, applied to whole numbers instead of bytes */
    guint64 hash = 0xcbf29ce484222325ull;
    const guint64 parts[] = {
        (guint64)st->st_ino,         (guint64)st->st_dev,
        (guint64)st->st_mode,        S_ISDIR(st->st_mode) ? 0 : (guint64)st->st_size,
        (guint64)st->st_mtim.tv_sec, (guint64)st->st_mtim.tv_nsec,
        (guint64)st->st_ctim.tv_sec, (guint64)st->st_ctim.tv_nsec,
    };
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        hash = (hash ^ parts[i]) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

void acr_vcs_marks_add(AcrVcsMarks *marks, const char *path, const struct stat *st)
{
    if (!marks)
        return;
    Mark mark = {.path = g_string_chunk_insert(marks->paths, *path ? path : "."),
                 .hash = st ? hash_of(st) : 0};
    g_array_append_val(marks->marks, mark);
    if (!st)
        return;
    gint64 changed_ns = st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec;
    gint64 grain_ns = st->st_ctim.tv_nsec ? FINE_GRAIN_NS : COARSE_GRAIN_NS;
    marks->unsettled |= changed_ns + grain_ns > marks->start_ns;
}

void acr_vcs_marks_add_file(AcrVcsMarks *marks, const char *path)
{
    struct stat st;
    if (marks)
        acr_vcs_marks_add(marks, path, lstat(path, &st) == 0 ? &st : NULL);
}

/* The part of the marks that one thread checks: every `step`th mark, beginning with `first`. */
typedef struct {
    const GArray *marks;
    int root;
    guint first, step;
    gint *is_changed; /* shared by all threads */
} Look;

static void *look_at_mark(void *data)
{
    const Look *part = data;
    for (guint i = part->first; i < part->marks->len && !g_atomic_int_get(part->is_changed);
         i += part->step) {
        const Mark *mark = &g_array_index(part->marks, Mark, i);
        struct stat st;
        bool is_there = fstatat(part->root, mark->path, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (mark->hash != (is_there ? hash_of(&st) : 0))
            g_atomic_int_set(part->is_changed, 1);
    }
    return NULL;
}

bool acr_snapshot_is_current(const AcrSnapshot *snapshot)
{
    const AcrVcsMarks *marks = snapshot->marks;
    if (!marks || marks->unsettled || !snapshot->repo || !snapshot->repo->workdir)
        return false;
    ACR_AUTO_FD root = open(snapshot->repo->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    gint is_changed = root < 0;
    guint step = CLAMP(MIN(g_get_num_processors(), marks->marks->len / MIN_LOOK), 1, MAX_LOOKERS);
    Look parts[MAX_LOOKERS];
    pthread_t others[MAX_LOOKERS];
    bool is_running[MAX_LOOKERS] = {false};
    for (guint i = step;
         i-- > 0 && !g_atomic_int_get(&is_changed);) { /* the calling thread checks part 0 */
        parts[i] = (Look){marks->marks, root, i, step, &is_changed};
        is_running[i] = i > 0 && pthread_create(&others[i], NULL, look_at_mark, &parts[i]) == 0;
        if (!is_running[i])
            look_at_mark(&parts[i]);
    }
    for (guint i = 0; i < step; i++)
        if (is_running[i])
            pthread_join(others[i], NULL);
    return !is_changed;
}
