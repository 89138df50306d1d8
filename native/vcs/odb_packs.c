/* Reads the packs of one folder. libgit2's backend reads each pack, but only after this file has
 * checked the pack's index, and only objects whose chain of deltas ends. Commits and trees must
 * have the requested id, because cached copies are shared by the id of a tree.
 *
 * libgit2 1.5 multiplies numbers of an index in 32 bits and then reads unmapped memory, and it
 * follows circular deltas forever. A pack that fails the check is skipped, so its objects are
 * missing. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "odb_private.h"

#define MAX_PACKS 10000u
#define MAX_DELTAS 10000u /* maximum number of deltas in one chain; git creates at most 4095 */
#define INDEX_HEAD 8u
#define FANOUT_BYTES 1024u
#define TRAILER_BYTES 40u /* number of bytes of the checksums of the pack and of the index */
#define PACK_HEAD 12u
#define PACK_TRAILER 20u
#define FAR_OFFSET 0x80000000u
/* maximum size in bytes of objects in a chain of deltas; git creates no deltas of larger objects */
#define MAX_INFLATED (512ull << 20)
/* number of decompressed bytes that contain both sizes at the beginning of a delta */
#define DELTA_HEAD 20u
#define TYPES 8u                  /* must exceed the largest object type */
#define DELTA_FIRST ((gsize)4096) /* number of compressed bytes that yield DELTA_HEAD bytes */

typedef struct {
    char *name; /* "pack-….idx" */
    git_odb_backend *inner;
    GMappedFile *index, *pack;
    /* offset -> number of deltas * TYPES + type, for objects that are known to be readable */
    GHashTable *sound;
    /* reused for all deltas, because initialising it takes longer than reading the beginning of a
     * delta */
    z_stream stream;
    const guint8 *fanout, *ids, *offsets, *far;
    guint32 n;   /* number of objects */
    gsize n_far; /* number of 64-bit offsets */
    /* number of bytes from one id (or offset) to the next; version 1 of the index stores ids and
     * offsets alternately */
    gsize id_step;
    gsize offset_step;
} Pack;

typedef struct {
    git_odb_backend parent;
    char *folder;     /* path of the folder objects/pack */
    GPtrArray *packs; /* array of Pack, sorted by name, except that the pack used last is first */
    bool is_listed;
    /* the id of the object that was found last, and its offset, because libgit2 requests each
     * object twice: first its type, then its content */
    git_oid last;
    guint64 last_offset;
} Packs;

static void pack_free(Pack *pack)
{
    if (pack->inner)
        pack->inner->free(pack->inner);
    g_clear_pointer(&pack->index, g_mapped_file_unref);
    g_clear_pointer(&pack->pack, g_mapped_file_unref);
    g_hash_table_unref(pack->sound);
    inflateEnd(&pack->stream);
    ACR_FREE(pack->name, pack);
}

static guint32 read_32(const guint8 *at)
{
    return (guint32)at[0] << 24 | (guint32)at[1] << 16 | (guint32)at[2] << 8 | at[3];
}

/* Sets the pointers to the tables of an index of version 2, or of version 1, which has no header.
 * Returns false if the index is malformed. */
static bool lay_out(Pack *pack)
{
    const guint8 *data = (const guint8 *)g_mapped_file_get_contents(pack->index);
    guint64 len = g_mapped_file_get_length(pack->index);
    bool is_new = len >= INDEX_HEAD && memcmp(data, "\377tOc\0\0\0\2", INDEX_HEAD) == 0;
    guint64 head = is_new ? INDEX_HEAD : 0, step = is_new ? 28 : 24;
    if (len < head + FANOUT_BYTES + TRAILER_BYTES)
        return false;
    pack->fanout = data + head;
    for (guint i = 1; i < 256; i++)
        if (read_32(pack->fanout + 4 * (gsize)i) < read_32(pack->fanout + 4 * (gsize)(i - 1)))
            return false;
    pack->n = read_32(pack->fanout + FANOUT_BYTES - 4);
    guint64 tables = FANOUT_BYTES + head + pack->n * step, rest = len - TRAILER_BYTES;
    if (tables > rest || (!is_new && tables != rest) || (rest - tables) % 8 != 0)
        return false;
    pack->n_far = (rest - tables) / 8;
    pack->ids = pack->fanout + FANOUT_BYTES + (is_new ? 0 : 4);
    pack->id_step = is_new ? GIT_OID_RAWSZ : step;
    pack->offsets = is_new ? pack->ids + pack->n * (gsize)24 : pack->fanout + FANOUT_BYTES;
    pack->offset_step = is_new ? 4 : step;
    pack->far = data + tables;
    return pack->n_far <= pack->n;
}

/* Returns the offset of an object in the pack; 0 if the index does not contain the object, or if
 * its offset is malformed. */
static guint64 find_offset(const Pack *pack, const guint8 *id)
{
    guint32 low = *id ? read_32(pack->fanout + 4 * (gsize)(*id - 1)) : 0,
            high = read_32(pack->fanout + 4 * (gsize)*id);
    while (low < high) {
        guint32 middle = low + (high - low) / 2;
        int order = memcmp(id, pack->ids + middle * pack->id_step, GIT_OID_RAWSZ);
        if (order == 0) {
            guint64 offset = read_32(pack->offsets + middle * pack->offset_step);
            guint64 far = offset & ~(guint64)FAR_OFFSET;
            if (!(offset & FAR_OFFSET) || pack->offset_step != 4)
                return offset;
            const guint8 *at = pack->far + far * 8;
            return far < pack->n_far ? (guint64)read_32(at) << 32 | read_32(at + 4) : 0;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

/* Reads the rest of a number from *at: seven bits in each byte, beginning with the lowest bits.
 * `low` contains the `shift` bits read so far. Returns G_MAXUINT64 if the pack ends or the number
 * is too large. */
static guint64 read_number(const guint8 **at, const guint8 *end, guint64 low, guint shift)
{
    for (bool more = true; more; shift += 7) {
        if (*at >= end || shift > 56)
            return G_MAXUINT64;
        low |= (guint64)(**at & 127) << shift;
        more = *(*at)++ & 0x80;
    }
    return low;
}

/* Returns the distance from a delta back to its base, in git's encoding; 0 if it is malformed. */
static guint64 read_distance(const guint8 **at, const guint8 *end)
{
    guint64 distance = 0;
    for (bool more = true; more; (*at)++) {
        if (*at >= end || distance >> 56)
            return 0;
        distance |= **at & 127;
        more = **at & 0x80;
        if (more)
            distance = (distance + 1) << 7;
    }
    return distance;
}

/* An object as its entry in the pack describes it, without reading its base. */
typedef struct {
    git_object_t type;
    guint64 size; /* size of the object in bytes; for a delta, size of the delta's result */
    guint64 base; /* offset of the base object; 0 if the object is not a delta */
    guint deltas; /* length of the object's chain of deltas; set by follow_chain */
    bool bounded; /* reading the object needs no more memory than reading objects that git
                   * creates */
} Entry;

/* Reads the two sizes at the beginning of a delta: the size of its base and of its result. */
static bool read_delta(Pack *pack, const guint8 *at, const guint8 *end, Entry *entry)
{
    guint8 head[DELTA_HEAD];
    z_stream *stream = &pack->stream;
    stream->next_in = (Bytef *)at;
    stream->avail_in = (uInt)MIN((gsize)(end - at), DELTA_FIRST);
    stream->next_out = head;
    stream->avail_out = sizeof head;
    if (inflateReset(stream) == Z_OK)
        (void)inflate(stream, Z_SYNC_FLUSH);
    const guint8 *text = head, *stop = stream->next_out;
    guint64 taken = read_number(&text, stop, 0, 0);
    entry->size = read_number(&text, stop, 0, 0);
    entry->bounded = entry->bounded && taken <= MAX_INFLATED && entry->size <= MAX_INFLATED;
    return taken != G_MAXUINT64 && entry->size != G_MAXUINT64;
}

static bool read_entry(Pack *pack, guint64 offset, Entry *out)
{
    const guint8 *start = (const guint8 *)g_mapped_file_get_contents(pack->pack),
                 *end = start + g_mapped_file_get_length(pack->pack) - PACK_TRAILER;
    if (offset < PACK_HEAD || offset >= (guint64)(end - start))
        return false;
    const guint8 *at = start + offset;
    *out = (Entry){.type = (git_object_t)(*at >> 4 & 7), .size = *at & 15};
    if (*at++ & 0x80)
        out->size = read_number(&at, end, out->size, 4);
    out->bounded = out->size <= MAX_INFLATED;
    if (out->size == G_MAXUINT64)
        return false;
    if (out->type == GIT_OBJECT_OFS_DELTA) {
        guint64 distance = read_distance(&at, end);
        out->base = offset - distance;
        return distance > 0 && distance < offset && read_delta(pack, at, end, out);
    }
    if (out->type == GIT_OBJECT_REF_DELTA) {
        out->base = end - at >= GIT_OID_RAWSZ ? find_offset(pack, at) : 0;
        return out->base != 0 && read_delta(pack, at + GIT_OID_RAWSZ, end, out);
    }
    return out->type >= GIT_OBJECT_COMMIT && out->type <= GIT_OBJECT_TAG;
}

/* Sets out->type by following the object's chain of deltas. Returns false if the chain is too long
 * or malformed. Records a bounded object in `sound`. */
static bool follow_chain(Pack *pack, guint64 offset, Entry *out)
{
    if (!read_entry(pack, offset, out))
        return false;
    Entry at = *out;
    for (gsize known = 0; at.base && !known;) {
        known = GPOINTER_TO_SIZE(g_hash_table_lookup(pack->sound, GSIZE_TO_POINTER(at.base)));
        if (!known && !read_entry(pack, at.base, &at))
            return false;
        out->type = known ? (git_object_t)(known % TYPES) : at.type;
        out->deltas += known ? 1 + (guint)(known / TYPES) : 1;
        out->bounded = out->bounded && (known || at.bounded);
        if (out->deltas > MAX_DELTAS)
            return false;
    }
    if (out->bounded)
        g_hash_table_insert(pack->sound, GSIZE_TO_POINTER(offset),
                            GSIZE_TO_POINTER((gsize)out->deltas * TYPES + (gsize)out->type));
    return true;
}

static GMappedFile *map_regular(const char *path, gsize least)
{
    struct stat st;
    ACR_AUTO_FD fd = acr_file_open(AT_FDCWD, path, true);
    return fd >= 0 && fstat(fd, &st) == 0 && (guint64)st.st_size >= least
               ? g_mapped_file_new_from_fd(fd, FALSE, NULL)
               : NULL;
}

static Pack *pack_open(const char *folder, const char *name)
{
    Pack *pack = g_new0(Pack, 1);
    g_autofree char *index = g_build_filename(folder, name, NULL);
    g_autofree char *data = g_strdup_printf("%.*spack", (int)strlen(index) - 3, index);
    pack->name = g_strdup(name);
    pack->sound = g_hash_table_new(NULL, NULL);
    (void)inflateInit(&pack->stream); /* on failure, reading each delta fails, too */
    pack->index = map_regular(index, FANOUT_BYTES);
    pack->pack = map_regular(data, PACK_HEAD + PACK_TRAILER);
    if (!pack->index || !pack->pack || !lay_out(pack) ||
        acr_git.odb_backend_one_pack(&pack->inner, index) < 0)
        pack->inner = NULL; /* keep the pack in the list, so that it is not checked again */
    return pack;
}

static int packs_refresh(git_odb_backend *backend)
{
    Packs *packs = (Packs *)backend;
    packs->is_listed = true;
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < packs->packs->len; i++)
        g_hash_table_add(known, ((Pack *)packs->packs->pdata[i])->name);
    g_autoptr(GDir) dir = g_dir_open(packs->folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        if (g_str_has_suffix(name, ".idx") && !g_hash_table_contains(known, name) &&
            packs->packs->len < MAX_PACKS)
            g_ptr_array_add(packs->packs, pack_open(packs->folder, name));
    }
    return 0;
}

static Pack *find_pack(Packs *packs, const git_oid *id, guint64 *out_offset)
{
    if (!packs->is_listed)
        (void)packs_refresh(&packs->parent);
    bool again = packs->last_offset && acr_git.oid_equal(id, &packs->last);
    for (guint i = 0; i < packs->packs->len; i++) {
        Pack *pack = packs->packs->pdata[i]; /* the pack that was used last comes first */
        guint64 offset = again ? packs->last_offset : 0;
        if (!again && pack->inner)
            offset = find_offset(pack, id->id);
        if (offset == 0)
            continue;
        packs->packs->pdata[i] = packs->packs->pdata[0];
        packs->packs->pdata[0] = pack;
        packs->last = *id;
        packs->last_offset = *out_offset = offset;
        return pack;
    }
    return NULL;
}

static int packs_read(void **out, size_t *out_len, git_object_t *out_type, git_odb_backend *backend,
                      const git_oid *id)
{
    guint64 offset;
    Entry entry = {.bounded = true};
    Pack *pack = find_pack((Packs *)backend, id, &offset);
    if (!pack)
        return GIT_ENOTFOUND;
    if (!g_hash_table_contains(pack->sound, GSIZE_TO_POINTER(offset)) &&
        (!follow_chain(pack, offset, &entry) || !entry.bounded))
        return acr_vcs_odb_fail("an object of a pack is damaged");
    int rc = pack->inner->read(out, out_len, out_type, pack->inner, id);
    if (rc == 0 && !acr_vcs_odb_has_id(*out_type, *out, *out_len, id)) {
        acr_git.odb_backend_data_free(backend, *out);
        return acr_vcs_odb_fail("the content of an object in a pack does not match its id");
    }
    return rc;
}

static int packs_read_header(size_t *out_size, git_object_t *out_type, git_odb_backend *backend,
                             const git_oid *id)
{
    guint64 offset;
    Entry entry;
    Pack *pack = find_pack((Packs *)backend, id, &offset);
    if (!pack)
        return GIT_ENOTFOUND;
    if (!follow_chain(pack, offset, &entry))
        return acr_vcs_odb_fail("an object of a pack is damaged");
    *out_size = entry.size;
    *out_type = entry.type;
    return 0;
}

static int packs_exists(git_odb_backend *backend, const git_oid *id)
{
    guint64 offset;
    return find_pack((Packs *)backend, id, &offset) != NULL;
}

static int packs_exists_prefix(git_oid *out, git_odb_backend *backend, const git_oid *prefix,
                               size_t len)
{
    Packs *packs = (Packs *)backend;
    bool found = false;
    if (!packs->is_listed)
        (void)packs_refresh(backend);
    for (guint i = 0; i < packs->packs->len; i++) {
        git_oid id;
        git_odb_backend *inner = ((Pack *)packs->packs->pdata[i])->inner;
        int rc = inner ? inner->exists_prefix(&id, inner, prefix, len) : GIT_ENOTFOUND;
        if (rc == GIT_EAMBIGUOUS || (rc == 0 && found && !acr_git.oid_equal(out, &id)))
            return GIT_EAMBIGUOUS;
        if (rc == 0)
            acr_git.oid_cpy(out, &id);
        found = found || rc == 0;
    }
    return found ? 0 : GIT_ENOTFOUND;
}

static void packs_free(git_odb_backend *backend)
{
    Packs *packs = (Packs *)backend;
    g_ptr_array_unref(packs->packs);
    ACR_FREE(packs->folder, packs);
}

git_odb_backend *acr_vcs_odb_packs(const char *objects)
{
    Packs *packs = g_new0(Packs, 1);
    acr_git.odb_init_backend(&packs->parent, GIT_ODB_BACKEND_VERSION);
    packs->folder = g_build_filename(objects, "pack", NULL);
    packs->packs = g_ptr_array_new_with_free_func((GDestroyNotify)pack_free);
    packs->parent.read = packs_read;
    packs->parent.read_header = packs_read_header;
    packs->parent.exists = packs_exists;
    packs->parent.exists_prefix = packs_exists_prefix;
    packs->parent.refresh = packs_refresh;
    packs->parent.free = packs_free;
    return &packs->parent;
}
