/* Finds the part of the repository's history that the git folder of one commit contains: the
 * commits up to the nearest tag, and the tags of these commits.
 *
 * References are untrusted, so their number and depth are limited. This file reads references
 * without libgit2, because libgit2 takes time proportional to the square of a loose reference's
 * length, and may follow links out of the repository. */
#include <string.h>

#include "vcs_private.h"

#define MAX_HISTORY 10000u /* maximum number of commits that are searched for a tag */
/* maximum depth of folders of tags, and maximum number of tags that lead to another tag */
#define MAX_DEPTH 10u
#define MAX_PACKED_REFS ((gsize)64 * 1024 * 1024)

typedef struct {
    git_repository *git;
    git_odb *odb;
    AcrVcsHistory *history;
    GHashTable *names; /* set of the names of tags and of folders of tags read so far */
} Finding;

static void tag_free(gpointer data)
{
    AcrVcsTag *tag = data;
    g_free(tag->name);
    g_array_unref(tag->ids);
    g_free(tag);
}

/* Appends to `ids` the objects to which the tag in `ids` leads, up to a commit. Returns false if
 * the tag does not lead to a commit. */
static bool follow(git_repository *git, GArray *ids)
{
    while (ids->len <= MAX_DEPTH + 1) {
        g_autoptr(git_object) object = NULL;
        git_oid id = g_array_index(ids, git_oid, ids->len - 1);
        if (acr_git.object_lookup(&object, git, &id, GIT_OBJECT_ANY) < 0)
            return false;
        if (acr_git.object_type(object) != GIT_OBJECT_TAG)
            return acr_git.object_type(object) == GIT_OBJECT_COMMIT;
        g_array_append_vals(ids, acr_git.tag_target_id((const git_tag *)object), 1);
    }
    return false;
}

/* Adds a tag to the tags of the commit to which it leads. Does nothing if it leads to no commit. */
static void add_tag(Finding *finding, const char *name, const char *hex)
{
    git_oid id;
    g_autofree char *reference = g_strconcat(ACR_VCS_TAGS, name, NULL);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(git_oid));
    int is_valid = 0;
    if (acr_git.reference_name_is_valid(&is_valid, reference) < 0 || !is_valid ||
        acr_git.oid_fromstr(&id, hex) < 0)
        return;
    g_array_append_val(ids, id);
    if (!follow(finding->git, ids))
        return;
    const git_oid *to = &g_array_index(ids, git_oid, ids->len - 1);
    GPtrArray *tags = g_hash_table_lookup(finding->history->tags, to->id);
    if (!tags) {
        tags = g_ptr_array_new_with_free_func(tag_free);
        g_hash_table_insert(finding->history->tags, g_memdup2(to->id, GIT_OID_RAWSZ), tags);
    }
    AcrVcsTag *tag = g_new0(AcrVcsTag, 1);
    tag->name = g_strdup(name);
    tag->ids = g_steal_pointer(&ids);
    g_ptr_array_add(tags, tag);
}

static bool is_next(Finding *finding, const char *name)
{
    if (g_hash_table_contains(finding->names, name))
        return false;
    finding->history->has_all_tags = g_hash_table_size(finding->names) < ACR_VCS_MAX_TAGS;
    return finding->history->has_all_tags && g_hash_table_add(finding->names, g_strdup(name));
}

static void add_loose_tags(Finding *finding, const char *folder, const char *prefix, guint depth)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *part; dir && (part = g_dir_read_name(dir));) {
        g_autofree char *file = g_build_filename(folder, part, NULL),
                        *name = g_strconcat(prefix, part, NULL),
                        *below = g_strconcat(name, "/", NULL);
        bool is_folder = g_file_test(file, G_FILE_TEST_IS_DIR);
        if (!is_next(finding, is_folder ? below : name))
            continue;
        g_autoptr(GBytes) bytes = is_folder ? NULL : acr_file_read(file, GIT_OID_HEXSZ + 1, NULL);
        g_autofree char *hex = bytes ? g_strchomp(acr_bytes_text(bytes)) : NULL;
        if (hex)
            add_tag(finding, name, hex);
        else if (is_folder && depth < MAX_DEPTH && !g_file_test(file, G_FILE_TEST_IS_SYMLINK))
            add_loose_tags(finding, file, below, depth + 1);
    }
}

static void add_packed_tags(Finding *finding, const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "packed-refs", NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_PACKED_REFS, NULL);
    g_autofree char *text = bytes ? acr_bytes_text(bytes) : NULL;
    char *rest = text;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (strlen(line) > GIT_OID_HEXSZ && line[GIT_OID_HEXSZ] == ' ' &&
            g_str_has_prefix(line + GIT_OID_HEXSZ + 1, ACR_VCS_TAGS)) {
            const char *name = line + GIT_OID_HEXSZ + 1 + strlen(ACR_VCS_TAGS);
            line[GIT_OID_HEXSZ] = '\0';
            if (is_next(finding, name))
                add_tag(finding, name, line);
        }
}

/* Reads all tags. Loose tags come first, because a loose reference overrides a packed reference of
 * the same name. */
static void find_tags(Finding *finding)
{
    const char *folder = acr_git.repository_commondir(finding->git);
    g_autofree char *loose = g_build_filename(folder, ACR_VCS_TAGS, NULL);
    add_loose_tags(finding, loose, "", 0);
    add_packed_tags(finding, folder);
}

static bool add_parents(Finding *finding, const git_oid *id, GHashTable *seen)
{
    g_autoptr(git_commit) commit = NULL;
    if (acr_git.commit_lookup(&commit, finding->git, id) < 0)
        return false;
    for (guint i = 0; i < acr_git.commit_parentcount(commit); i++)
        if (!acr_git.odb_exists(finding->odb, acr_git.commit_parent_id(commit, i)))
            return false;
    for (guint i = 0; i < acr_git.commit_parentcount(commit); i++) {
        AcrVcsCommit parent = {.id = *acr_git.commit_parent_id(commit, i)};
        if (g_hash_table_add(seen, g_memdup2(parent.id.id, GIT_OID_RAWSZ)))
            g_array_append_val(finding->history->commits, parent);
    }
    return true;
}

/* Appends the commits between the snapshot's commit and the nearest commit with a tag. Keeps only
 * the snapshot's commit if there is no such tag. Marks commits without copied parents as is_cut. */
static void find_way(Finding *finding)
{
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free, NULL);
    GArray *commits = finding->history->commits;
    GHashTable *tags = finding->history->tags;
    guint at = 0;
    bool found = false;
    for (; !found && at < commits->len && at < MAX_HISTORY && g_hash_table_size(tags);
         at += !found) {
        git_oid id = g_array_index(commits, AcrVcsCommit, at).id;
        found = g_hash_table_contains(tags, id.id);
        if (!found && !add_parents(finding, &id, seen))
            g_array_index(commits, AcrVcsCommit, at).is_cut = true;
    }
    if (!found)
        g_array_set_size(commits, 1);
    for (guint i = found ? at : 0; i < commits->len; i++)
        g_array_index(commits, AcrVcsCommit, i).is_cut = true;
}

const char *acr_vcs_autocrlf(git_repository *git)
{
    static const git_configmap values[] = {{GIT_CONFIGMAP_FALSE, NULL, 0},
                                           {GIT_CONFIGMAP_TRUE, NULL, 1},
                                           {GIT_CONFIGMAP_STRING, "input", 2}};
    static const char *const words[] = {"false", "true", "input"};
    int value = 0;
    g_autoptr(git_config) config = NULL;
    bool is_set = acr_git.repository_config(&config, git) == 0 &&
                  acr_git.config_get_mapped(&value, config, "core.autocrlf", values,
                                            G_N_ELEMENTS(values)) == 0;
    return words[is_set ? value : 0];
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp((*(const AcrVcsTag *const *)a)->name, (*(const AcrVcsTag *const *)b)->name);
}

static void add_text(GChecksum *sum, const git_oid *id, const char *words)
{
    char hex[GIT_OID_HEXSZ + 1];
    g_autofree char *line =
        g_strdup_printf("%s %s\n", acr_git.oid_tostr(hex, sizeof hex, id), words);
    g_checksum_update(sum, (const guchar *)line, -1);
}

static char *make_digest(const AcrVcsHistory *history)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
    g_checksum_update(sum, (const guchar *)history->autocrlf, -1);
    for (guint i = 0; i < history->commits->len; i++) {
        const AcrVcsCommit *commit = &g_array_index(history->commits, AcrVcsCommit, i);
        GPtrArray *tags = g_hash_table_lookup(history->tags, commit->id.id);
        add_text(sum, &commit->id, commit->is_cut ? "cut" : "commit");
        if (tags)
            g_ptr_array_sort(tags, by_name);
        for (guint k = 0; tags && k < tags->len; k++) {
            const AcrVcsTag *tag = tags->pdata[k];
            add_text(sum, &g_array_index(tag->ids, git_oid, 0), tag->name);
        }
    }
    return g_strdup(g_checksum_get_string(sum));
}

const AcrVcsHistory *acr_vcs_history(AcrSnapshot *snapshot)
{
    if (snapshot->history)
        return snapshot->history;
    AcrVcsHistory *history = snapshot->history = g_new0(AcrVcsHistory, 1);
    AcrVcsCommit first = {.is_cut = false};
    g_autoptr(git_odb) odb = NULL;
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    history->has_all_tags = true;
    history->commits = g_array_new(FALSE, TRUE, sizeof(AcrVcsCommit));
    history->tags = g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free,
                                          (GDestroyNotify)g_ptr_array_unref);
    acr_git.oid_fromstr(&first.id, snapshot->commit);
    g_array_append_val(history->commits, first);
    Finding finding = {.git = snapshot->repo->git, .history = history, .names = names};
    if (acr_git.repository_odb(&odb, finding.git) == 0) {
        finding.odb = odb;
        find_tags(&finding);
    }
    find_way(&finding);
    history->autocrlf = acr_vcs_autocrlf(finding.git);
    history->digest = make_digest(history);
    return history;
}

char *acr_snapshot_git_digest(AcrSnapshot *snapshot, bool *out_has_all_tags)
{
    if (!snapshot->commit[0] || !snapshot->repo || !snapshot->repo->git)
        return NULL;
    pthread_mutex_lock(&snapshot->repo->lock);
    const AcrVcsHistory *history = acr_vcs_history(snapshot);
    pthread_mutex_unlock(&snapshot->repo->lock);
    if (out_has_all_tags)
        *out_has_all_tags = history->has_all_tags;
    return g_strdup(history->digest);
}
