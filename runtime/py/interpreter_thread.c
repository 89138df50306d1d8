/* The thread that owns the interpreter, its jobs, and the watchdog that ends a job whose deadline
 * has passed.
 *
 * Callers take turns: a job moves from `posted` to `running` to done, under one mutex. The worker
 * holds the GIL only while a job runs. The watchdog takes the GIL to raise acr.deadline.Deadline in
 * the worker, again and again until the job ends. If a job still does not end (because it hangs in
 * C code), its caller returns, and the interpreter counts as lost. Lock order: `turn` or the GIL
 * before the mutex. */
#include "py/py_object_private.h"

#include <pthread.h>
#include <signal.h>

typedef struct {
    char *module, *function;
    GBytes *argument;
    gint64 deadline_ms; /* 0: no deadline */
    gint64 raise_us;    /* monotonic time at which the watchdog raises Deadline next; set when the
                         * job starts */
    gint64 give_up_us;  /* monotonic time at which the caller stops waiting */
    bool started, fired, done;
    GBytes *result;
    GError *error;
} Job;

typedef enum { STARTING, SERVING, FAILED_TO_START } Phase;

struct AcrPython {
    pthread_mutex_t turn; /* locked by the caller whose job may run */
    pthread_mutex_t mutex;
    pthread_cond_t to_worker, to_callers, to_watchdog; /* all use the monotonic clock */
    pthread_t worker, watchdog;
    Job *posted, *running;
    gint64 watch_until_us; /* monotonic time at which the watchdog wakes up without a signal */
    Phase phase;
    bool stopping, lost;
    GError *start_error;
    char *package_dir;
    unsigned long thread_id; /* the worker thread's id in Python */
    PyObject *deadline;      /* class acr.deadline.Deadline */
};

static Job *job_new(const char *module, const char *function, GBytes *argument, gint64 deadline_ms)
{
    Job *job = g_new0(Job, 1);
    job->module = g_strdup(module);
    job->function = g_strdup(function);
    job->argument = argument ? g_bytes_ref(argument) : NULL;
    job->deadline_ms = deadline_ms;
    return job;
}

static void job_free(Job *job)
{
    ACR_FREE(job->module, job->function);
    g_clear_pointer(&job->argument, g_bytes_unref);
    g_clear_pointer(&job->result, g_bytes_unref);
    g_clear_error(&job->error);
    g_free(job);
}

static void wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, gint64 until_us)
{
    if (until_us == G_MAXINT64) {
        pthread_cond_wait(cond, mutex);
        return;
    }
    struct timespec until = {.tv_sec = until_us / G_USEC_PER_SEC,
                             .tv_nsec = until_us % G_USEC_PER_SEC * 1000};
    pthread_cond_timedwait(cond, mutex, &until);
}

/* Raises Deadline in the worker if `job` is still running. Waits for the GIL, forever if a job
 * never releases it. */
static void raise_deadline(AcrPython *python, const Job *job)
{
    PyGILState_STATE state = PyGILState_Ensure();
    pthread_mutex_lock(&python->mutex);
    gint64 now = g_get_monotonic_time();
    /* Check the time, too, because the job may have ended and a later job may have the same
     * address. */
    if (python->running == job && job->deadline_ms > 0 && job->raise_us <= now) {
        python->running->fired = true;
        python->running->raise_us = now + ACR_PY_AGAIN_MS * 1000;
        PyThreadState_SetAsyncExc(python->thread_id, python->deadline);
    }
    pthread_mutex_unlock(&python->mutex);
    PyGILState_Release(state);
}

static void *watchdog_main(void *data)
{
    AcrPython *python = data;
    pthread_mutex_lock(&python->mutex);
    while (!python->stopping) {
        const Job *job = python->running;
        gint64 due = job && job->deadline_ms > 0 ? job->raise_us : G_MAXINT64;
        if (due > g_get_monotonic_time()) {
            python->watch_until_us = due;
            wait_until(&python->to_watchdog, &python->mutex, due);
            continue;
        }
        pthread_mutex_unlock(&python->mutex);
        raise_deadline(python, job);
        pthread_mutex_lock(&python->mutex);
    }
    pthread_mutex_unlock(&python->mutex);
    return NULL;
}

/* Returns the next job after waiting for it; NULL if the thread must stop. The caller holds the
 * mutex, but not the GIL. */
static Job *next_job(AcrPython *python)
{
    while (!python->stopping && !python->posted)
        pthread_cond_wait(&python->to_worker, &python->mutex);
    Job *job = g_steal_pointer(&python->posted);
    if (python->stopping)
        return NULL;
    gint64 now = g_get_monotonic_time();
    job->started = true;
    job->raise_us = now + job->deadline_ms * 1000;
    job->give_up_us = job->deadline_ms > 0 ? job->raise_us + ACR_PY_GRACE_MS * 1000 : G_MAXINT64;
    python->running = job;
    if (job->deadline_ms > 0) {
        pthread_cond_broadcast(
            &python->to_callers); /* the caller must now wait only until give_up_us */
        if (job->raise_us < python->watch_until_us)
            pthread_cond_signal(&python->to_watchdog);
    }
    return job;
}

/* Ensures that no further Deadline arrives, not even one that was raised but not delivered yet. The
 * caller holds the GIL. */
static void end_running(AcrPython *python)
{
    pthread_mutex_lock(&python->mutex);
    python->running = NULL;
    pthread_mutex_unlock(&python->mutex);
    PyThreadState_SetAsyncExc(python->thread_id, NULL);
}

/* Runs a job. The caller holds the GIL. */
static void run_job(AcrPython *python, Job *job)
{
    PyObject *result = acr_py_call(job->module, job->function, job->argument);
    end_running(python);
    if (job->fired) {
        /* Report the timeout even if the job returned a result, because the job may have caught the
         * exception half-way. */
        g_set_error(&job->error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT,
                    "Python took longer than %" G_GINT64_FORMAT " ms", job->deadline_ms);
        PyErr_Clear();
    } else if (result) {
        job->result = g_bytes_new(PyBytes_AS_STRING(result), (gsize)PyBytes_GET_SIZE(result));
    } else {
        acr_py_error_take(job->deadline_ms, &job->error);
    }
    Py_XDECREF(result);
}

static void serve(AcrPython *python)
{
    PyThreadState *state = PyEval_SaveThread();
    pthread_mutex_lock(&python->mutex);
    for (Job *job; (job = next_job(python)) != NULL;) {
        pthread_mutex_unlock(&python->mutex);
        PyEval_RestoreThread(state);
        run_job(python, job);
        state = PyEval_SaveThread();
        pthread_mutex_lock(&python->mutex);
        job->done = true;
        if (python->lost)
            job_free(job); /* no caller waits for the job any more */
        pthread_cond_broadcast(&python->to_callers);
    }
    pthread_mutex_unlock(&python->mutex);
    pthread_join(python->watchdog, NULL); /* the code that set `stopping` has woken the watchdog */
    PyEval_RestoreThread(state);
}

/* Prepares the members that the watchdog needs, and starts the watchdog. */
static bool prepare_interpreter(AcrPython *python, GError **error)
{
    python->thread_id = PyThread_get_thread_ident();
    python->deadline = acr_py_deadline();
    if (!python->deadline) {
        acr_py_error_take(0, error);
        return false;
    }
    int failed = pthread_create(&python->watchdog, NULL, watchdog_main, python);
    if (failed)
        g_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT, "cannot start a thread: %s",
                    g_strerror(failed));
    return !failed;
}

static void set_phase(AcrPython *python, Phase phase)
{
    pthread_mutex_lock(&python->mutex);
    python->phase = phase;
    pthread_cond_broadcast(&python->to_callers);
    pthread_mutex_unlock(&python->mutex);
}

static void *worker_main(void *data)
{
    AcrPython *python = data;
    if (!acr_py_start(python->package_dir, &python->start_error)) {
        set_phase(python, FAILED_TO_START);
        return NULL;
    }
    bool ready = prepare_interpreter(python, &python->start_error);
    if (ready) {
        set_phase(python, SERVING);
        serve(python);
    }
    Py_CLEAR(python->deadline);
    (void)Py_FinalizeEx();
    if (!ready)
        set_phase(python, FAILED_TO_START);
    return NULL;
}

static void init_conds(AcrPython *python)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&python->turn, NULL);
    pthread_mutex_init(&python->mutex, NULL);
    pthread_cond_init(&python->to_worker, &attr);
    pthread_cond_init(&python->to_callers, &attr);
    pthread_cond_init(&python->to_watchdog, &attr);
    pthread_condattr_destroy(&attr);
}

static void destroy(AcrPython *python)
{
    pthread_cond_destroy(&python->to_worker);
    pthread_cond_destroy(&python->to_callers);
    pthread_cond_destroy(&python->to_watchdog);
    pthread_mutex_destroy(&python->mutex);
    pthread_mutex_destroy(&python->turn);
    g_clear_error(&python->start_error);
    ACR_FREE(python->package_dir, python);
}

/* Starts the worker with all signals blocked, because the main thread handles them. The watchdog
 * inherits the mask. */
static int start_worker(AcrPython *python)
{
    sigset_t all, before;
    pthread_attr_t attr;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, ACR_PY_STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&python->worker, &attr, worker_main, python);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return failed;
}

AcrPython *acr_python_start(const char *package_dir, GError **error)
{
    AcrPython *python = g_new0(AcrPython, 1);
    init_conds(python);
    python->watch_until_us = G_MAXINT64;
    python->package_dir = g_canonicalize_filename(package_dir, NULL);
    (void)acr_py_version(); /* the first call must come before another thread exists */
    int failed = start_worker(python);
    if (failed) {
        g_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT, "cannot start a thread: %s",
                    g_strerror(failed));
        destroy(python);
        return NULL;
    }
    return python;
}

/* Sets the error with which the interpreter failed to start, and returns false. The caller holds
 * the mutex. */
static bool start_error(const AcrPython *python, GError **error)
{
    g_propagate_error(error, g_error_copy(python->start_error));
    return false;
}

bool acr_python_await(AcrPython *python, GError **error)
{
    pthread_mutex_lock(&python->mutex);
    while (python->phase == STARTING)
        pthread_cond_wait(&python->to_callers, &python->mutex);
    bool ok = python->phase == SERVING || start_error(python, error);
    pthread_mutex_unlock(&python->mutex);
    return ok;
}

AcrPython *acr_python_new(const char *package_dir, GError **error)
{
    g_autoptr(AcrPython) python = acr_python_start(package_dir, error);
    return python && acr_python_await(python, error) ? g_steal_pointer(&python) : NULL;
}

void acr_python_free(AcrPython *python)
{
    if (!python)
        return;
    pthread_mutex_lock(&python->mutex);
    bool lost = python->lost;
    python->stopping = true;
    pthread_cond_broadcast(&python->to_worker);
    pthread_cond_broadcast(&python->to_watchdog);
    pthread_mutex_unlock(&python->mutex);
    if (lost)
        return; /* the threads may never end, so their memory is not freed */
    pthread_join(python->worker, NULL);
    destroy(python);
}

static bool lost_error(GError **error)
{
    return acr_set_error(
        error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT,
        "the Python interpreter cannot be used: an earlier job did not end by its deadline");
}

/* Posts the job, waits until it has ended, and sets *out to its result. The caller holds the
 * mutex. */
static bool await_job(AcrPython *python, Job *job, GBytes **out, GError **error)
{
    python->posted = job;
    pthread_cond_signal(&python->to_worker);
    while (!job->done) {
        if (python->phase == FAILED_TO_START)
            return start_error(python, error);
        if (job->started && g_get_monotonic_time() >= job->give_up_us) {
            python->lost = true;
            return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_TIMEOUT,
                                 "Python took longer than %" G_GINT64_FORMAT " ms and did not end",
                                 job->deadline_ms);
        }
        wait_until(&python->to_callers, &python->mutex,
                   job->started ? job->give_up_us : G_MAXINT64);
    }
    if (job->error)
        return acr_pass_error(error, &job->error);
    *out = g_steal_pointer(&job->result);
    return true;
}

bool acr_python_call(AcrPython *python, const char *module, const char *function, GBytes *argument,
                     gint64 deadline_ms, GBytes **out, GError **error)
{
    Job *job = job_new(module, function, argument, deadline_ms);
    pthread_mutex_lock(&python->turn);
    pthread_mutex_lock(&python->mutex);
    bool ok = python->lost ? lost_error(error) : await_job(python, job, out, error);
    /* if the caller gave up, the worker frees the job when it ends */
    if (job->done || !job->started)
        job_free(job);
    pthread_mutex_unlock(&python->mutex);
    pthread_mutex_unlock(&python->turn);
    return ok;
}
