/* Loads libgit2 when a repository is first read. Loading libgit2 with its libraries takes half of
 * the program's start time, and worker processes read no repository. */
#pragma once

#include <git2.h>
#if __has_include(<git2/sys/errors.h>)
#include <git2/sys/errors.h>
#endif
#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>

/* The functions of libgit2 that vcs calls, as `acr_git.NAME`. */
// clang-format off
#define ACR_GIT_FUNCTIONS(F) \
    F(apply_to_tree) F(blob_create_from_buffer) F(blob_free) F(blob_lookup) F(blob_rawcontent) \
    F(blob_rawsize) F(branch_name_is_valid) F(buf_dispose) F(commit_create) F(commit_free) \
    F(commit_id) F(commit_lookup) F(commit_parent_id) F(commit_parentcount) F(commit_summary) \
    F(commit_time) F(commit_tree) F(commit_tree_id) F(config_add_file_ondisk) F(config_free) \
    F(config_get_bool) \
    F(config_get_mapped) F(config_get_path) F(config_get_string_buf) F(diff_buffers) \
    F(diff_foreach) F(diff_free) F(diff_from_buffer) F(diff_get_delta) F(diff_num_deltas) \
    F(diff_options_init) F(error_clear) F(error_last) F(error_set_str) F(index_add) \
    F(index_entrycount) F(index_free) F(index_get_byindex) F(index_get_bypath) F(index_new) \
    F(index_open) F(index_read_tree) F(index_remove) F(index_write) F(index_write_tree_to) \
    F(libgit2_init) F(libgit2_opts) F(libgit2_version) F(mempack_new) F(mempack_reset) \
    F(object_free) F(object_id) F(object_lookup) F(object_peel) F(object_string2type) \
    F(object_type) F(object_typeisloose) F(odb_add_alternate) F(odb_add_backend) \
    F(odb_backend_data_alloc) F(odb_backend_data_free) F(odb_backend_loose) \
    F(odb_backend_one_pack) F(odb_exists) F(odb_exists_ext) F(odb_free) F(odb_hash) \
    F(odb_init_backend) F(odb_new) F(odb_object_data) F(odb_object_free) F(odb_object_id) \
    F(odb_object_size) F(odb_read) F(odb_read_header) F(odb_write) F(oid_cpy) F(oid_equal) \
    F(oid_fromraw) F(oid_fromstr) F(oid_tostr) F(reference_create) F(reference_dwim) \
    F(reference_free) F(reference_iterator_free) F(reference_iterator_glob_new) \
    F(reference_iterator_new) F(reference_lookup) F(reference_name) F(reference_name_is_valid) \
    F(reference_name_to_id) F(reference_next_name) F(reference_peel) F(reference_symbolic_target) \
    F(remote_name_is_valid) F(repository_commondir) F(repository_config) F(repository_free) \
    F(repository_head_unborn) F(repository_index) F(repository_is_shallow) \
    F(repository_is_worktree) F(repository_item_path) F(repository_odb) F(repository_open_ext) \
    F(repository_path) F(repository_set_odb) F(repository_wrap_odb) F(revparse_single) \
    F(signature_default) F(signature_free) F(tag_target_id) F(tree_entry_byindex) \
    F(tree_entry_byname) F(tree_entry_bypath) F(tree_entry_filemode) F(tree_entry_free) \
    F(tree_entry_id) \
    F(tree_entry_name) F(tree_entrycount) F(tree_free) F(tree_lookup) F(tree_walk)
// clang-format on
typedef struct {
#define MEMBER(name) __typeof__(&git_##name) name;
    ACR_GIT_FUNCTIONS(MEMBER)
#undef MEMBER
} AcrGit;
/* Returns the functions of libgit2. The first call loads and initialises libgit2; failure aborts
 * the program. Call acr_vcs_init() first, which reports such a failure as an error. */
const AcrGit *acr_git_functions(void);
#define acr_git (*acr_git_functions())
