/* Copies that are used again: whatever was done to one, it is as it was afterwards. */
#include "test_sandbox.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

typedef struct {
    Box box;
    AcrCopy *copy;
    int fills; /* how often it was filled */
} Case;

static bool fill(void *ctx, const char *dir, GError **error)
{
    Case *self = ctx;
    g_autofree char *from = box_path(&self->box, "from");
    self->fills++;
    return acr_tree_copy(from, dir, error);
}

static void case_open(Case *self)
{
    g_autofree char *dir = box_path(&self->box, "copy"), *record = box_path(&self->box, "record");
    acr_copy_free(self->copy);
    self->copy = acr_copy_new(dir, record);
}

/* `folder` NULL: where temporary files are. */
static void case_init_in(Case *self, const char *folder)
{
    *self = (Case){0};
    if (folder)
        self->box.root = g_mkdtemp(g_build_filename(folder, "acr-box-XXXXXX", NULL));
    else
        box_init(&self->box);
    g_assert_nonnull(self->box.root);
    box_put(&self->box, "from/tree/a.py", "one\n", 0644);
    box_put(&self->box, "from/tree/deep/er/b.py", "two\n", 0644);
    box_put(&self->box, "from/tree/run", "#!/bin/sh\n", 0755);
    box_put(&self->box, "from/tree/two\nlines \xff", "odd\n", 0644);
    box_link(&self->box, "deep/er", "from/tree/link");
    box_make(&self->box, "from/tree/empty");
    box_make(&self->box, "from/home");
    box_make(&self->box, "copy");
    case_open(self);
}

static void case_init(Case *self)
{
    case_init_in(self, NULL);
}

static void case_clear(Case *self)
{
    acr_copy_free(self->copy);
    box_clear(&self->box);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

static void mend(Case *self)
{
    g_autoptr(GError) error = NULL;
    bool ok = acr_copy_mend(self->copy, fill, self, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
}

/* Names, kinds, modes, times of files, contents. */
static char *describe(Case *self, const char *name)
{
    static const char script[] =
        "cd \"$0\" && find . \\( -type d -printf '%p %y %m\\n' \\) -o \\( -type l -printf '%p "
        "%l\\n' "
        "\\) -o -printf '%p %y %m %T@\\n' | sort && find . -type f -print0 | sort -z | "
        "xargs -0 -r sha256sum";
    g_autofree char *path = box_path(&self->box, name);
    return box_run(&self->box, (const char *const[]){"/bin/sh", "-c", script, path, NULL});
}

static void expect_whole(Case *self)
{
    g_autofree char *is = describe(self, "copy"), *should = describe(self, "from");
    g_assert_cmpstr(is, ==, should);
}

static void do_in_copy(Case *self, const char *script)
{
    g_autofree char *inside = g_strconcat("cd copy && ", script, NULL), *said = NULL;
    said = box_run(&self->box, (const char *const[]){"/bin/sh", "-c", inside, NULL});
}

static char *changed(Case *self)
{
    g_autoptr(GError) error = NULL;
    const GPtrArray *paths = acr_copy_changed(self->copy, &error);
    g_assert_no_error(error);
    GPtrArray *list = g_ptr_array_new();
    for (guint i = 0; i < paths->len; i++)
        g_ptr_array_add(list, g_strdup(paths->pdata[i]));
    g_auto(GStrv) sorted = acr_sandbox_sorted(list);
    return g_strjoinv(" ", sorted);
}

/* What a command does, the files that are told for it, and whether something must be written
 * again. */
static const struct {
    const char *script, *changed;
    bool refills;
} deeds[] = {
    {":", "", false},
    {"cat tree/a.py; touch -a tree/a.py", "tree/a.py", true},
    {"echo new >tree/new.py; mkdir -p tree/x/y; echo z >tree/x/y/z; echo u >up; echo h >home/.rc",
     "home/.rc tree/new.py tree/x/y/z up", false},
    {"echo two >tree/a.py", "tree/a.py", true},
    /* The same size, and the time of before. */
    {"touch -r tree/a.py ../t; printf 'ONE\\n' >tree/a.py; touch -r ../t tree/a.py; rm ../t",
     "tree/a.py", true},
    {"cp -p tree/a.py tree/c; mv tree/c tree/a.py", "tree/a.py", true},
    {"rm tree/a.py", "tree/a.py", true},
    {"rm -r tree/deep", "tree/deep/er/b.py", true},
    {"rmdir tree/empty", "", true},
    {"rm -r tree home", "tree/a.py tree/deep/er/b.py tree/link tree/run tree/two\nlines \xff",
     true},
    {"chmod 755 tree/a.py", "tree/a.py", true},
    {"chmod 700 tree/deep", "", true},
    {"chmod 000 tree/deep/er", "", true},
    {"rm tree/link; ln -s elsewhere tree/link", "tree/link", true},
    {"rm tree/a.py; ln -s /etc/passwd tree/a.py", "tree/a.py", true},
    {"rm tree/a.py; mkdir tree/a.py; echo x >tree/a.py/x", "tree/a.py tree/a.py/x", true},
    {"rm -r tree/deep; echo file >tree/deep", "tree/deep tree/deep/er/b.py", true},
    {"rm -r tree/deep; mkdir ../out; echo keep >../out/b.py; ln -s ../../out tree/deep",
     "tree/deep tree/deep/er/b.py", true},
    {"ln tree/a.py tree/hard", "tree/a.py tree/hard", true},
    {"mkfifo tree/pipe", "tree/pipe", false},
    {"d=tree/empty; for i in $(seq 300); do d=$d/d; done; mkdir -p $d", "", false},
};

static void whatever_was_done_is_put_back(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(deeds); i++) {
        g_auto(Case) self;
        case_init(&self);
        mend(&self);
        g_assert_cmpint(self.fills, ==, 1);
        expect_whole(&self);
        do_in_copy(&self, deeds[i].script);
        if (i + 1 < G_N_ELEMENTS(deeds)) { /* the last is too deep to be looked through */
            g_autofree char *paths = changed(&self);
            g_assert_cmpstr(paths, ==, deeds[i].changed);
        }
        mend(&self);
        expect_whole(&self);
        if (i + 1 < G_N_ELEMENTS(deeds))
            g_assert_cmpint(self.fills, ==, deeds[i].refills ? 2 : 1);
        g_autofree char *none = changed(&self);
        g_assert_cmpstr(none, ==, "");
        g_assert_true(!box_has(&self.box, "out") || box_has(&self.box, "out/b.py"));
    }
}

static void another_process_knows_what_belongs_there(void)
{
    g_auto(Case) self;
    case_init(&self);
    mend(&self);
    case_open(&self);
    mend(&self);
    g_assert_cmpint(self.fills, ==, 1);
    do_in_copy(&self, "echo two >tree/a.py; echo new >tree/new"); /* and was killed */
    case_open(&self);
    mend(&self);
    g_assert_cmpint(self.fills, ==, 2);
    expect_whole(&self);
}

/* A change of the same size at once after the copy was made whole, in the same tick of the clock.
 */
static void a_change_at_once_is_seen(void)
{
    g_auto(Case) self;
    case_init(&self);
    for (guint i = 0; i < 20; i++) {
        mend(&self);
        struct stat st;
        g_autofree char *path = box_path(&self.box, "copy/tree/a.py");
        g_assert_cmpint(stat(path, &st), ==, 0);
        int fd = open(path, O_WRONLY);
        g_assert_cmpint(write(fd, "ONE\n", 4), ==, 4);
        futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim});
        close(fd);
        g_autofree char *paths = changed(&self);
        g_assert_cmpstr(paths, ==, "tree/a.py");
    }
}

/* A mapping that was read from before it is written to: in memory that moves no time of the file.
 */
static void write_mapped(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    volatile char *mapped = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(mapped != MAP_FAILED);
    g_assert_cmpint(mapped[0], ==, 'o');
    mapped[0] = 'X';
    g_assert_cmpint(munmap((void *)mapped, 4), ==, 0);
    close(fd);
}

static void what_a_mapping_writes_is_seen(void)
{
    const char *const folders[] = {NULL, "/dev/shm"};
    for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_auto(Case) self;
        if (folders[i] && access(folders[i], W_OK | X_OK) != 0) {
            g_test_skip("no file system in memory is there");
            return;
        }
        case_init_in(&self, folders[i]);
        mend(&self);
        g_autofree char *path = box_path(&self.box, "copy/tree/a.py");
        write_mapped(path);
        g_autofree char *paths = changed(&self);
        g_assert_cmpstr(paths, ==, "tree/a.py");
        case_open(&self);
        mend(&self);
        expect_whole(&self);
        g_assert_cmpint(self.fills, ==, 2);
        mend(&self);
        g_assert_cmpint(self.fills, ==, 2);
    }
}

static bool give_attribute(const char *path)
{
    return setxattr(path, "user.acr", "1", 1, 0) == 0;
}

static void attributes_of_a_folder_are_put_back(void)
{
    g_auto(Case) self;
    case_init(&self);
    mend(&self);
    g_autofree char *full = box_path(&self.box, "copy/tree/deep"),
                    *empty = box_path(&self.box, "copy/tree/empty");
    if (!give_attribute(full) || !give_attribute(empty)) {
        g_test_skip("folders have no attributes here");
        return;
    }
    mend(&self);
    expect_whole(&self);
    g_assert_cmpint(listxattr(full, NULL, 0), ==, listxattr(self.box.root, NULL, 0));
    g_assert_cmpint(listxattr(empty, NULL, 0), ==, listxattr(self.box.root, NULL, 0));
    mend(&self);
    g_assert_cmpint(self.fills, ==, 2);
}

static void a_record_that_is_none_is_not_believed(void)
{
    g_auto(Case) self;
    case_init(&self);
    mend(&self);
    g_autofree char *path = box_path(&self.box, "record"), *whole = NULL;
    gsize len;
    g_assert_true(g_file_get_contents(path, &whole, &len, NULL));
    const gsize lengths[] = {0, 5, 11, 19, 20, len / 2, len - 1}; /* 19: no name */
    for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_assert_true(g_file_set_contents(path, whole, (gssize)lengths[i], NULL));
        do_in_copy(&self, "echo two >tree/a.py");
        case_open(&self);
        mend(&self);
        expect_whole(&self);
    }
    whole[0] ^= 1;
    g_assert_true(g_file_set_contents(path, whole, (gssize)len, NULL));
    case_open(&self);
    mend(&self);
    expect_whole(&self);
}

static bool fill_in_part(void *ctx, const char *dir, GError **error)
{
    (void)fill(ctx, dir, error);
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "no space is left");
}

static void what_could_not_be_filled_is_filled_later(void)
{
    g_auto(Case) self;
    case_init(&self);
    g_autoptr(GError) error = NULL;
    mend(&self);
    do_in_copy(&self, "rm -r tree/deep; echo two >tree/a.py");
    g_assert_false(acr_copy_mend(self.copy, fill_in_part, &self, &error));
    g_assert_cmpstr(error->message, ==, "no space is left");
    mend(&self);
    expect_whole(&self);
}

/* As a command may leave it that moves its own folder away. */
static void a_link_in_its_place_is_not_followed(void)
{
    g_auto(Case) self;
    case_init(&self);
    g_autoptr(GError) error = NULL, again = NULL;
    mend(&self);
    box_put(&self.box, "out/file", "mine", 0644);
    do_in_copy(&self, "cd .. && mv copy moved && ln -s out copy");
    g_assert_false(acr_copy_mend(self.copy, fill, &self, &error));
    case_open(&self);
    g_assert_false(acr_copy_mend(self.copy, fill, &self, &again));
    g_autofree char *names = box_names(&self.box, "out");
    g_assert_cmpstr(names, ==, "file");
}

/* Somebody who is at work in the folder while it is put back. */
typedef struct {
    Case *self;
    const char *script;
} Intruder;

static bool fill_beside(void *ctx, const char *dir, GError **error)
{
    const Intruder *intruder = ctx;
    do_in_copy(intruder->self, intruder->script);
    return fill(intruder->self, dir, error);
}

static void what_comes_while_it_is_mended_does_not_stay(void)
{
    const char *const scripts[] = {"echo alien >tree/new", "echo who >tree/a.py",
                                   "ln -s elsewhere tree/a.py", "mkdir tree/new"};
    for (guint i = 0; i < G_N_ELEMENTS(scripts); i++) {
        g_auto(Case) self;
        case_init(&self);
        g_autoptr(GError) error = NULL;
        Intruder intruder = {&self, scripts[i]};
        mend(&self);
        do_in_copy(&self, "rm tree/a.py");
        g_assert_false(acr_copy_mend(self.copy, fill_beside, &intruder, &error));
        g_assert_nonnull(strstr(error->message, "somebody else is at work"));
        mend(&self); /* by the record of before */
        expect_whole(&self);
    }
}

void add_copies_tests(void)
{
    g_test_add_func("/sandbox/copies/whatever_was_done_is_put_back", whatever_was_done_is_put_back);
    g_test_add_func("/sandbox/copies/another_process_knows_what_belongs_there",
                    another_process_knows_what_belongs_there);
    g_test_add_func("/sandbox/copies/a_change_at_once_is_seen", a_change_at_once_is_seen);
    g_test_add_func("/sandbox/copies/what_a_mapping_writes_is_seen", what_a_mapping_writes_is_seen);
    g_test_add_func("/sandbox/copies/attributes_of_a_folder_are_put_back",
                    attributes_of_a_folder_are_put_back);
    g_test_add_func("/sandbox/copies/a_record_that_is_none_is_not_believed",
                    a_record_that_is_none_is_not_believed);
    g_test_add_func("/sandbox/copies/what_could_not_be_filled_is_filled_later",
                    what_could_not_be_filled_is_filled_later);
    g_test_add_func("/sandbox/copies/a_link_in_its_place_is_not_followed",
                    a_link_in_its_place_is_not_followed);
    g_test_add_func("/sandbox/copies/what_comes_while_it_is_mended_does_not_stay",
                    what_comes_while_it_is_mended_does_not_stay);
}
