/* Tests of the verdict on an execution: real output of Python 3.6 to 3.13, and misleading
 * scripts. */
#include <glib.h>
#include <string.h>

#include "loops/loops.h"
#include "unit/cases.h"

static const char script[] = "import pkg\n"
                             "\n"
                             "\n"
                             "def check(n):\n"
                             "    assert pkg.double(n) == 2 * n, \"wrong\"\n"
                             "\n"
                             "\n"
                             "check(3)\n";

typedef struct {
    const char *name, *err;
    int exit_code;
    AcrTestResult want;
    guint line;
} Case;

#define HEAD "Traceback (most recent call last):\n"
#define CALLED "  File \"/srv/p/reproducer.py\", line 8, in <module>\n    check(3)\n"
#define RAISED                                                                                                         \
    "  File \"/srv/p/reproducer.py\", line 5, in check\n"                                                              \
    "    assert pkg.double(n) == 2 * n, \"wrong\"\n"
#define LIBRARY                                                                                                        \
    "  File \"/usr/lib/python3/unittest/case.py\", line 837, in fail\n"                                                \
    "    raise self.failureException(msg)\n"

static const Case cases[] = {
    {"with a message", HEAD CALLED RAISED "AssertionError: wrong\n", 1, ACR_TEST_REPRODUCED, 5},
    {"without a message", HEAD CALLED RAISED "AssertionError\n", 1, ACR_TEST_REPRODUCED, 5},
    {"a message of lines", HEAD CALLED RAISED "AssertionError: a\n  b\n\nc: d\n", 1, ACR_TEST_REPRODUCED, 5},
    {"with carets, as from 3.11 on",
     HEAD "  File \"/srv/p/reproducer.py\", line 8, in <module>\n    check(3)\n    ~~~~~^^^\n" RAISED
          "           ^^^^^^^^^^^^^^^^^^^^^^^\nAssertionError: wrong\n",
     1, ACR_TEST_REPRODUCED, 5},
    {"a path as given, as before 3.9",
     HEAD "  File \"reproducer.py\", line 8, in <module>\n    check(3)\nAssertionError\n", 1, ACR_TEST_REPRODUCED, 8},
    {"raised in a library", HEAD CALLED LIBRARY "AssertionError: 1 != 2\n", 1, ACR_TEST_REPRODUCED, 8},
    {"after another exception",
     HEAD CALLED "ValueError: x\n\nDuring handling of the above exception, another exception "
                 "occurred:\n\n" HEAD CALLED RAISED "AssertionError: wrong\n",
     1, ACR_TEST_REPRODUCED, 5},
    {"a dotted name", HEAD CALLED LIBRARY "twisted.trial.AssertionError: 1 != 2\n", 1, ACR_TEST_REPRODUCED, 8},
    {"warnings before it", "/x.py:3: DeprecationWarning: old\n  import imp\n" HEAD CALLED RAISED "AssertionError\n", 1,
     ACR_TEST_REPRODUCED, 5},
    {"a traceback in its message",
     HEAD CALLED RAISED "AssertionError: it failed:\n" HEAD "  File \"<string>\", line 1, in <module>\nKeyError: 'x'\n",
     1, ACR_TEST_REPRODUCED, 5},
    {"an exception that is ignored after it",
     HEAD CALLED RAISED "AssertionError: wrong\nException ignored in: <function F.__del__ at 0x1>\n" HEAD
                        "  File \"/srv/p/pkg.py\", line 3, in __del__\n    self.close()\nAttributeError: close\n",
     1, ACR_TEST_REPRODUCED, 5},
    {"another error", HEAD CALLED "ImportError: no double\n", 1, ACR_TEST_BROKEN, 0},
    {"another error after an assertion",
     HEAD CALLED RAISED "AssertionError: wrong\n\nDuring handling of the above exception, another "
                        "exception occurred:\n\n" HEAD CALLED "KeyError: 'x'\n",
     1, ACR_TEST_BROKEN, 0},
    {"the word in a message", HEAD CALLED "ValueError: AssertionError: no\n", 1, ACR_TEST_BROKEN, 0},
    {"the word alone, of a script that asserts", "AssertionError: wrong\n", 1, ACR_TEST_REPRODUCED, 0},
    {"the word, and more behind it", "AssertionError: wrong\nbye\n", 1, ACR_TEST_BROKEN, 0},
    {"a traceback that quotes nothing", HEAD "  File \"/srv/p/reproducer.py\", line 5, in check\nAssertionError\n", 1,
     ACR_TEST_REPRODUCED, 5},
    {"the word and exit 0", "AssertionError: wrong\n", 0, ACR_TEST_PASSED, 0},
    {"a traceback and exit 0", HEAD CALLED RAISED "AssertionError: wrong\n", 0, ACR_TEST_PASSED, 0},
    {"a traceback without frames", HEAD "AssertionError: wrong\n", 1, ACR_TEST_BROKEN, 0},
    {"a traceback that quotes another line",
     HEAD "  File \"/srv/p/reproducer.py\", line 5, in check\n    assert False\nAssertionError\n", 1, ACR_TEST_BROKEN,
     0},
    {"a line that the script does not have",
     HEAD "  File \"/srv/p/reproducer.py\", line 99, in check\n    check(3)\nAssertionError\n", 1, ACR_TEST_BROKEN, 0},
    {"a script elsewhere", HEAD "  File \"/tmp/reproducer.py\", line 8, in <module>\n    check(3)\nAssertionError\n", 1,
     ACR_TEST_BROKEN, 0},
    {"a class named alike", HEAD CALLED "MyAssertionError: wrong\n", 1, ACR_TEST_BROKEN, 0},
    {"a syntax error", "  File \"/srv/p/reproducer.py\", line 3\n    def\n       ^\nSyntaxError: invalid syntax\n", 1,
     ACR_TEST_BROKEN, 0},
    {"nothing on stderr", "", 1, ACR_TEST_BROKEN, 0},
    {"nothing at all", "", 0, ACR_TEST_PASSED, 0}};

static AcrExecuted executed(const char *err, int exit_code)
{
    return (AcrExecuted){
        .exit_code = exit_code, .out = g_bytes_new_static("", 0), .err = g_bytes_new_static(err, strlen(err))};
}

TEST("/loops/execution_verdict", cases)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(AcrExecuted) run = executed(cases[i].err, cases[i].exit_code);
        g_auto(AcrTestVerdict) verdict = {0};
        g_test_message("%s", cases[i].name);
        acr_test_judge(&run, script, "/srv/p", &verdict);
        g_assert_cmpint(verdict.result, ==, cases[i].want);
        g_assert_cmpuint(verdict.line, ==, cases[i].line);
        g_assert_nonnull(verdict.why);
        g_assert_null(strchr(verdict.why, '\n'));
    }
}

TEST("/loops/execution_verdict", a_limit_or_a_signal_reproduces_nothing)
{
    static const char err[] = HEAD CALLED RAISED "AssertionError: wrong\n";
    static const AcrSandboxLimit limits[] = {ACR_LIMIT_WALL, ACR_LIMIT_CPU, ACR_LIMIT_MEMORY, ACR_LIMIT_FILES,
                                             ACR_LIMIT_PROCESSES};
    for (guint i = 0; i < G_N_ELEMENTS(limits); i++) {
        g_auto(AcrExecuted) run = executed(err, 1);
        g_auto(AcrTestVerdict) verdict = {0};
        run.limit = limits[i];
        acr_test_judge(&run, script, "/srv/p", &verdict);
        g_assert_cmpint(verdict.result, ==, ACR_TEST_BROKEN);
        g_assert_nonnull(strstr(verdict.why, acr_sandbox_limit_words(limits[i])));
    }
    g_auto(AcrExecuted) killed = executed(err, -1);
    g_auto(AcrTestVerdict) verdict = {0};
    killed.signal = 11;
    acr_test_judge(&killed, script, "/srv/p", &verdict);
    g_assert_cmpint(verdict.result, ==, ACR_TEST_BROKEN);
}

TEST("/loops/execution_verdict", much_output_alone_is_no_reason)
{
    g_auto(AcrExecuted) run = executed(HEAD CALLED RAISED "AssertionError: wrong\n", 1);
    g_auto(AcrTestVerdict) verdict = {0};
    run.limit = ACR_LIMIT_OUTPUT;
    acr_test_judge(&run, script, "/srv/p", &verdict);
    g_assert_cmpint(verdict.result, ==, ACR_TEST_REPRODUCED);
}

TEST("/loops/execution_verdict", what_is_doubtful_is_told)
{
    static const char *const changed[] = {"data.txt", "pkg/__init__.py", "reproducer.py", NULL};
    g_auto(AcrExecuted) run = executed(HEAD CALLED RAISED "AssertionError: wrong\n", 0);
    g_auto(AcrTestVerdict) verdict = {0};
    run.changed = g_strdupv((char **)changed);
    acr_test_judge(&run, script, "/srv/p", &verdict);
    g_assert_cmpint(verdict.result, ==, ACR_TEST_PASSED);
    g_assert_cmpuint(verdict.doubts->len, ==, 3);
    g_assert_cmpstr(verdict.doubts->pdata[0], ==, "the script writes 'pkg/__init__.py'");
    g_assert_cmpstr(verdict.doubts->pdata[1], ==, "the script changes itself while it runs");
    g_assert_cmpstr(verdict.doubts->pdata[2], ==, "the script prints an AssertionError and exits with 0");
}

TEST("/loops/execution_verdict", bytes_that_are_no_text_are_read)
{
    g_auto(AcrExecuted)
        run = {.exit_code = 1,
               .out = g_bytes_new_static("", 0),
               .err = g_bytes_new_static("\xff\0\n" HEAD CALLED RAISED "AssertionError: \xff\n",
                                         sizeof "\xff\0\n" HEAD CALLED RAISED "AssertionError: \xff\n" - 1)};
    g_auto(AcrTestVerdict) verdict = {0};
    acr_test_judge(&run, script, "/srv/p", &verdict);
    g_assert_cmpint(verdict.result, ==, ACR_TEST_REPRODUCED);
}
