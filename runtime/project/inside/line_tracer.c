/* The trace function of line_tracer.py in C, for CPython 3.9 to 3.11. Traced in Python, a busy loop
 * would take three times as long. It is a shared object without libraries or headers, so that one
 * file works with each of these versions in every image. It uses the functions of the process that
 * loads it, or fails to load.
 *
 * For each code object it asks Python once which lines to record, and keeps the answer in a table
 * by the code's address. */
#include <stdint.h>

typedef struct _object PyObject;
typedef int (*Trace)(PyObject *, PyObject *, int, PyObject *);
void PyEval_SetTrace(Trace, PyObject *);
PyObject *PyFrame_GetCode(PyObject *);
int PyFrame_GetLineNumber(PyObject *);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
void *PyLong_AsVoidPtr(PyObject *);
void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
void PyErr_Restore(PyObject *, PyObject *, PyObject *);
void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);

enum { CALL = 0, LINE = 2, RETURN = 3 };

/* Made by line_tracer.py: an array with a byte for each line of a file; the byte is 1 if the line
 * was executed. */
typedef struct {
    int32_t count, is_run;
    uint8_t lines[];
} File;

/* An answer that is no File: the code is that of a module, so Python is called each time. */
#define IMPORTED ((File *)1)
#define SCRIPT ((File *)2)

typedef struct {
    PyObject *code; /* holds a reference, so that no other code gets the same address */
    File *file;     /* NULL if the lines of the code are not recorded */
} Row;

#define ROWS (1u << 17)

static Row rows[ROWS];
static unsigned used;
/* Python function: frame -> the address of a File, or IMPORTED */
static PyObject *answer;
static int is_on;
static __thread PyObject *importing; /* frame of the module whose code currently runs */

static Row *find_code(PyObject *code)
{
    unsigned at = (unsigned)(((uintptr_t)code >> 4) * 0x9E3779B97F4A7C15u >> 47) % ROWS;
    while (rows[at].code && rows[at].code != code)
        at = (at + 1) % ROWS;
    return &rows[at];
}

/* Calls `answer` for a code object that is not in the table. If the call fails (because the stack
 * is full), the next execution of the code calls `answer` again. */
static void begin_new(PyObject *frame, PyObject *code)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *found = PyObject_CallFunctionObjArgs(answer, frame, (PyObject *)0);
    File *file = found ? PyLong_AsVoidPtr(found) : 0;
    Py_DecRef(found);
    PyErr_Restore(type, value, traceback);
    Row *row = find_code(code);
    if (file == IMPORTED)
        importing = frame;
    else if (found && file != SCRIPT && !row->code && used < ROWS / 4 * 3) {
        Py_IncRef(code);
        *row = (Row){code, file};
        used++;
    }
}

static void note_line(File *file, PyObject *frame)
{
    int line = PyFrame_GetLineNumber(frame);
    if (line < 0 || line >= file->count)
        return;
    file->lines[line] = 1;
    file->is_run = 1;
}

static int trace(PyObject *self, PyObject *frame, int what, PyObject *arg)
{
    (void)self, (void)arg;
    if (importing || !is_on) {
        if (what == RETURN && frame == importing)
            importing = 0;
        return 0;
    }
    if (what != CALL && what != LINE)
        return 0;
    PyObject *code = PyFrame_GetCode(frame);
    const Row *row = find_code(code);
    if (what == CALL && !row->code)
        begin_new(frame, code);
    else if (what == LINE && row->file)
        note_line(row->file, frame);
    Py_DecRef(code);
    return 0;
}

/* Traces the current thread. */
void acr_trace_join(void)
{
    importing = 0;
    PyEval_SetTrace(trace, 0);
}

/* Starts tracing; `asked` is borrowed. */
void acr_trace_begin(PyObject *asked)
{
    answer = asked;
    for (unsigned i = 0; used > ROWS / 2 && i < ROWS; i++) {
        Py_DecRef(rows[i].code);
        rows[i] = (Row){0, 0};
    }
    used = used > ROWS / 2 ? 0 : used;
    is_on = 1;
    acr_trace_join();
}

/* Stops tracing in all threads. */
void acr_trace_end(void)
{
    is_on = 0;
    PyEval_SetTrace(0, 0);
}
