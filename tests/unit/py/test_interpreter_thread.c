/* Tests of jobs, deadlines, and an unusable interpreter. */
#include "py/py_private.h"
#include "py_fixture.h"

#include <pthread.h>
#include <string.h>

static void still_serves(AcrPython *python)
{
    assert_text(probe(python, "echo", "still here"), "still here");
}

TEST("/py/interpreter_thread", any_bytes_pass)
{
    g_autoptr(GError) error = NULL;
    guint8 all[512];
    for (gsize i = 0; i < sizeof all; i++)
        all[i] = (guint8)i;
    g_autoptr(GBytes) in = g_bytes_new(all, sizeof all), out = NULL, empty = NULL;
    assert_ok(acr_python_call(the_python(), "probe", "echo", in, 0, &out, &error), error);
    g_assert_true(g_bytes_equal(in, out));
    g_assert_true(acr_python_call(the_python(), "probe", "echo", NULL, 0, &empty, &error));
    g_assert_cmpuint(g_bytes_get_size(empty), ==, 0);
}

/* A job that never ends must be interrupted soon after its deadline. */
static void ended(const char *function, gint64 at_most_ms)
{
    gint64 start = g_get_monotonic_time();
    probe_fails(the_python(), function, 100, ACR_PY_ERROR_TIMEOUT, "Python took longer than 100 ms");
    gint64 took_ms = (g_get_monotonic_time() - start) / 1000;
    g_assert_cmpint(took_ms, >=, 99);
    g_assert_cmpint(took_ms, <, at_most_ms);
    still_serves(the_python());
}

TEST("/py/interpreter_thread", endless_job_is_ended)
{
    ended("spin", ACR_PY_GRACE_MS);
}

TEST("/py/interpreter_thread", except_exception_does_not_hold_the_deadline)
{
    ended("spin_careless", ACR_PY_GRACE_MS);
}

TEST("/py/interpreter_thread", swallowed_deadline_is_still_a_timeout)
{
    ended("spin_swallowing", ACR_PY_GRACE_MS);
}

TEST("/py/interpreter_thread", deadline_is_raised_again)
{
    ended("spin_stubborn", ACR_PY_GRACE_MS);
}

TEST("/py/interpreter_thread", late_deadline_does_not_hit_the_next_job)
{
    guint done = 0, late = 0;
    for (int i = 0; i < 300; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) in = bytes_of("3"), out = NULL;
        if (acr_python_call(the_python(), "probe", "spin_for", in, 3 + i % 2, &out, &error)) {
            done++;
        } else {
            g_assert_error(error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT);
            late++;
        }
        still_serves(the_python()); /* must not get the exception meant for the previous job */
    }
    g_assert_cmpuint(done + late, ==, 300);
    g_test_message("%u done, %u late", done, late);
}

static void *many_calls(void *data)
{
    AcrPython *python = data;
    for (int i = 0; i < 200; i++) {
        g_autofree char *text = g_strdup_printf("%p %d", (void *)&text, i);
        assert_text(probe(python, "echo", text), text);
    }
    return NULL;
}

TEST("/py/interpreter_thread", threads_get_their_own_answers)
{
    pthread_t threads[8];
    AcrPython *python = the_python();
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, many_calls, python), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_assert_cmpint(pthread_join(threads[i], NULL), ==, 0);
}

static void *spin_once(void *python)
{
    probe_fails(python, "spin", 2000, ACR_PY_ERROR_TIMEOUT, "Python took longer than 2000 ms");
    return NULL;
}

TEST("/py/interpreter_thread", deadline_counts_from_the_start_of_the_job)
{
    pthread_t thread;
    AcrPython *python = the_python();
    g_assert_cmpint(pthread_create(&thread, NULL, spin_once, python), ==, 0);
    g_usleep(50 * 1000);
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) in = bytes_of("waited"), out = NULL;
    assert_ok(acr_python_call(python, "probe", "echo", in, 1000, &out, &error), error);
    g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
}

static void *wait_in_queue(void *python)
{
    g_usleep(500 * 1000);
    probe_fails(python, "echo", 0, ACR_PY_ERROR_TIMEOUT, NULL);
    return NULL;
}

static void lost_alone(void)
{
    pthread_t waiting;
    AcrPython *python = the_python();
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) in = bytes_of("60000"), out = NULL;
    g_assert_cmpint(pthread_create(&waiting, NULL, wait_in_queue, python), ==, 0);
    gint64 start = g_get_monotonic_time();
    g_assert_false(acr_python_call(python, "probe", "sleep", in, 100, &out, &error));
    gint64 took_ms = (g_get_monotonic_time() - start) / 1000;
    g_assert_error(error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT);
    g_assert_cmpstr(error->message, ==, "Python took longer than 100 ms and did not end");
    g_assert_cmpint(took_ms, >=, ACR_PY_GRACE_MS);
    g_assert_cmpint(took_ms, <, ACR_PY_GRACE_MS + 20000);
    g_assert_cmpint(pthread_join(waiting, NULL), ==, 0);
    probe_fails(python, "echo", 0, ACR_PY_ERROR_TIMEOUT,
                "the Python interpreter cannot be used: an earlier job did not end by its deadline");
    no_python(); /* must not wait */
    g_autoptr(GError) again = NULL;
    g_assert_null(acr_python_new(package_dir(), &again));
    g_assert_error(again, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT);
    g_assert_cmpint((g_get_monotonic_time() - start) / 1000, <, ACR_PY_GRACE_MS + 30000);
}

TEST("/py/interpreter_thread", job_stuck_in_c_does_not_hang_the_caller)
{
    if (g_test_subprocess()) {
        lost_alone();
        g_assert_true(acr_dir_remove(package_dir(), NULL));
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_passed();
}

TEST("/py/interpreter_thread", deep_expression_does_not_crash)
{
    g_autofree char *minus = g_strnfill(2900, '-');
    g_autofree char *source = g_strconcat("x = ", minus, "1\n", NULL);
    g_autoptr(GBytes) in = bytes_of(source), out = NULL;
    g_autoptr(GError) error = NULL;
    assert_ok(acr_python_call(the_python(), "outline", "outline", in, 10000, &out, &error), error);
    g_assert_cmpuint(g_bytes_get_size(out), >, 0);
}
