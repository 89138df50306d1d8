/* Tests of where a control group is created: in folders laid out like the kernel's, and in the real
 * ones if possible. */
#include "test_sandbox.h"

#include <sys/stat.h>

#include "sandbox/sandbox_private.h"

/* `want` is relative to the box; NULL: a group cannot be created. */
static void expect_parent(const Box *box, const char *lines, const char *want, bool want_old)
{
    bool is_old = !want_old;
    g_autofree char *root = box_path(box, ""), *path = want ? box_path(box, want) : NULL;
    assert_text(acr_memory_group_parent(root, lines, &is_old), path);
    g_assert_true(is_old == want_old);
}

BOX_TEST("/sandbox/memory_group", the_first_version_takes_groups_below)
{
    expect_parent(box, "5:cpu:/x\n4:memory:/a/b\n0::/c\n", "memory/a/b", true);
    expect_parent(box, "4:memory:/\n", "memory", true);
}

BOX_TEST("/sandbox/memory_group", the_second_version_takes_groups_beside)
{
    box_put(box, "a/cgroup.subtree_control", "cpu memory pids\n", 0644);
    box_put(box, "a/b/memory.max", "max\n", 0644);
    box_put(box, "a/limited/memory.max", "1073741824\n", 0644);
    box_put(box, "c/cgroup.subtree_control", "cpu pids memory_x\n", 0644);
    box_put(box, "c/d/memory.max", "max\n", 0644);
    expect_parent(box, "0::/a/b\n", "a", false);
    /* the limit of this process's group would not apply to a sibling */
    expect_parent(box, "0::/a/limited\n", NULL, false);
    expect_parent(box, "0::/c/d\n", NULL, false);
    expect_parent(box, "0::/missing/e\n", NULL, false);
    expect_parent(box, "0::/\n", NULL, false);
    expect_parent(box, "", NULL, false);
    expect_parent(box, "nothing\n::\n", NULL, false);
}

TEST("/sandbox/memory_group", a_number_is_that_of_its_whole_words)
{
    static const char text[] = "low 7\nx oom_kill 4\noom_kill_x 5\noom_kill 3\nevents max 2\nmax 9";
    g_assert_cmpint(acr_kernel_number(text, "oom_kill"), ==, 3);
    g_assert_cmpint(acr_kernel_number(text, "low"), ==, 7);
    g_assert_cmpint(acr_kernel_number(text, "events max"), ==, 2);
    g_assert_cmpint(acr_kernel_number(text, "max"), ==, 9);
    g_assert_cmpint(acr_kernel_number(text, "memory.peak"), ==, 0);
}

TEST("/sandbox/memory_group", a_group_is_made_and_removed)
{
    g_autoptr(GError) error = NULL;
    AcrMemoryGroup first = {0}, group = {0};
    acr_memory_group_make(64 << 20, &first);
    if (!first.dir) {
        g_test_skip("no control group can be made here");
        return;
    }
    g_autofree char *parent = g_path_get_dirname(first.dir), *was = g_strdup(first.dir),
                    *stale = g_build_filename(parent, "acr-host.1999999999.7.00000000", NULL);
    g_assert_cmpint(mkdir(stale, 0755), ==, 0);
    acr_memory_group_make(64 << 20, &group); /* removes only groups that no process owns */
    g_assert_true(group.dir && g_file_test(was, G_FILE_TEST_IS_DIR));
    g_assert_false(g_file_test(stale, G_FILE_TEST_EXISTS));
    g_assert_cmpint(acr_memory_group_bytes(&group), ==, 0);
    g_assert_false(acr_memory_group_was_short(&group));
    acr_memory_group_remove(&first);
    acr_memory_group_remove(&group);
    g_assert_true(!first.dir && !g_file_test(was, G_FILE_TEST_EXISTS));
}
