/* Reads loose objects. Each is a file with a zlib stream of "TYPE SIZE", a NUL and the content.
 *
 * libgit2's backend is not used, because libgit2 1.5 never returns from a truncated stream, and
 * writes beyond its buffer if the content is longer than stated. The stream must contain exactly
 * what its header states. Commits and trees must have the requested id; snapshot_read.c checks the
 * ids of blobs if its caller requests the check. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "odb_private.h"

#define MAX_HEADER 64u
/* maximum size of a compressed file; it can exceed the size of the content if the data cannot be
 * compressed */
#define MAX_STREAM_BYTES (ACR_VCS_MAX_FILE_BYTES + (1u << 20))
/* number of bytes at the beginning of a file that contain the object's header */
#define FIRST_BYTES 256u

typedef struct {
    git_odb_backend parent;
    char *objects;
} Loose;

typedef struct {
    git_object_t type;
    gsize size;   /* size of the content in bytes */
    gsize before; /* size of the header in bytes, including its NUL */
} Header;

/* Returns libgit2's error code for an object that cannot be opened: the object is missing, or this
 * process cannot open more files. */
static int fail_to_open(void)
{
    return acr_vcs_is_exhausted(errno) ? acr_vcs_odb_fail(g_strerror(errno)) : GIT_ENOTFOUND;
}

static int open_object(const Loose *loose, const git_oid *id)
{
    char hex[GIT_OID_HEXSZ + 1];
    acr_git.oid_tostr(hex, sizeof hex, id);
    g_autofree char *path = g_strdup_printf("%s/%.2s/%s", loose->objects, hex, hex + 2);
    return acr_file_open(AT_FDCWD, path, false);
}

static bool parse_header(const guint8 *text, gsize len, Header *out)
{
    const char *start = (const char *)text;
    const char *end = memchr(start, '\0', MIN(len, MAX_HEADER)),
               *blank = end ? memchr(start, ' ', (gsize)(end - start)) : NULL;
    guint64 size = 0;
    g_autofree char *name = blank ? g_strndup(start, (gsize)(blank - start)) : NULL;
    g_autofree char *digits = blank ? g_strndup(blank + 1, (gsize)(end - blank - 1)) : NULL;
    if (!digits || !g_ascii_string_to_unsigned(digits, 10, 0, G_MAXINT64, &size, NULL))
        return false;
    out->type = acr_git.object_string2type(name);
    out->size = size;
    out->before = (gsize)(end - start) + 1;
    return acr_git.object_typeisloose(out->type) != 0;
}

/* Decompresses as much of `data` as fits into `room` bytes at `out`. Returns zlib's result. */
static int inflate_some(const void *data, gsize len, guint8 *out, gsize room, gsize *out_len)
{
    z_stream stream = {
        .next_in = (Bytef *)data, .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)room};
    *out_len = 0;
    if (inflateInit(&stream) != Z_OK)
        return Z_MEM_ERROR;
    int rc = inflate(&stream, Z_SYNC_FLUSH);
    *out_len = stream.total_out;
    inflateEnd(&stream);
    return rc;
}

static int read_header_of(int fd, Header *out)
{
    guint8 data[FIRST_BYTES], text[MAX_HEADER];
    gsize len;
    ssize_t got = pread(fd, data, sizeof data, 0);
    if (got > 0)
        (void)inflate_some(data, (gsize)got, text, sizeof text, &len);
    return got > 0 && parse_header(text, len, out) ? 0
                                                   : acr_vcs_odb_fail("a loose object is damaged");
}

static int loose_read_header(size_t *out_size, git_object_t *out_type, git_odb_backend *backend,
                             const git_oid *id)
{
    Header header;
    ACR_AUTO_FD fd = open_object((const Loose *)backend, id);
    if (fd < 0)
        return fail_to_open();
    int rc = read_header_of(fd, &header);
    if (rc == 0) {
        *out_size = header.size;
        *out_type = header.type;
    }
    return rc;
}

bool acr_vcs_odb_has_id(git_object_t type, const void *content, gsize len, const git_oid *id)
{
    git_oid its;
    return type == GIT_OBJECT_BLOB ||
           (acr_git.odb_hash(&its, content, len, type) == 0 && acr_git.oid_equal(&its, id));
}

static int loose_read(void **out, size_t *out_len, git_object_t *out_type, git_odb_backend *backend,
                      const git_oid *id)
{
    Header header;
    gsize len = 0;
    ACR_AUTO_FD fd = open_object((const Loose *)backend, id);
    if (fd < 0)
        return fail_to_open();
    int rc = read_header_of(fd, &header);
    if (rc < 0)
        return rc;
    if (header.size > ACR_VCS_MAX_FILE_BYTES)
        return acr_vcs_odb_fail("a loose object is larger than acr-host reads");
    g_autoptr(GBytes) data = acr_fd_read_file(fd, "", MAX_STREAM_BYTES, NULL);
    gsize whole = header.before + header.size;
    g_autofree guint8 *text = data ? g_try_malloc(whole + 1) : NULL;
    if (!text || inflate_some(g_bytes_get_data(data, NULL), g_bytes_get_size(data), text, whole + 1,
                              &len) != Z_STREAM_END)
        return acr_vcs_odb_fail("a loose object is damaged");
    const guint8 *content = text + header.before;
    if (len != whole || !acr_vcs_odb_has_id(header.type, content, header.size, id))
        return acr_vcs_odb_fail("the content of a loose object does not match its id");
    void *copy = acr_git.odb_backend_data_alloc(backend, header.size + 1);
    if (!copy)
        return GIT_ERROR;
    memcpy(copy, content, header.size);
    ((guint8 *)copy)[header.size] = '\0';
    *out = copy;
    *out_len = header.size;
    *out_type = header.type;
    return 0;
}

static int loose_exists(git_odb_backend *backend, const git_oid *id)
{
    ACR_AUTO_FD fd = open_object((const Loose *)backend, id);
    return fd >= 0;
}

static int loose_exists_prefix(git_oid *out, git_odb_backend *backend, const git_oid *prefix,
                               size_t len)
{
    char hex[GIT_OID_HEXSZ + 1], found[GIT_OID_HEXSZ + 1] = "";
    if (len < 2)
        return GIT_ENOTFOUND;
    acr_git.oid_tostr(hex, sizeof hex, prefix);
    g_autofree char *path = g_strdup_printf("%s/%.2s", ((const Loose *)backend)->objects, hex);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        if (strlen(name) != GIT_OID_HEXSZ - 2 || strncmp(name, hex + 2, len - 2) != 0)
            continue;
        if (*found)
            return GIT_EAMBIGUOUS;
        g_snprintf(found, sizeof found, "%.2s%s", hex, name);
    }
    return *found && acr_git.oid_fromstr(out, found) == 0 ? 0 : GIT_ENOTFOUND;
}

static void loose_free(git_odb_backend *backend)
{
    ACR_FREE(((Loose *)backend)->objects, backend);
}

git_odb_backend *acr_vcs_odb_loose(const char *objects)
{
    Loose *loose = g_new0(Loose, 1);
    acr_git.odb_init_backend(&loose->parent, GIT_ODB_BACKEND_VERSION);
    loose->objects = g_strdup(objects);
    loose->parent.read = loose_read;
    loose->parent.read_header = loose_read_header;
    loose->parent.exists = loose_exists;
    loose->parent.exists_prefix = loose_exists_prefix;
    loose->parent.free = loose_free;
    return &loose->parent;
}
