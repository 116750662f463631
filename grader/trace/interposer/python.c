/* Finds Python's functions in the program, and reads its texts. */
#define _GNU_SOURCE
#include "python.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

struct python_functions python;

static bool is_found;

static void look_up_python(void)
{
    struct {
        void *where;
        const char *name;
    } wanted[] = {
        {&python.is_initialized, "Py_IsInitialized"},
        {&python.this_thread_state, "PyGILState_GetThisThreadState"},
        {&python.ensure_gil, "PyGILState_Ensure"},
        {&python.release_gil, "PyGILState_Release"},
        {&python.current_frame, "PyEval_GetFrame"},
        {&python.frame_below, "PyFrame_GetBack"},
        {&python.code_of, "PyFrame_GetCode"},
        {&python.line_number, "PyFrame_GetLineNumber"},
        {&python.attribute, "PyObject_GetAttrString"},
        {&python.value_of, "PyMapping_GetItemString"},
        {&python.item, "PyTuple_GetItem"},
        {&python.path_of, "PyOS_FSPath"},
        {&python.utf8, "PyUnicode_AsUTF8AndSize"},
        {&python.bytes, "PyBytes_AsString"},
        {&python.bytes_and_size, "PyBytes_AsStringAndSize"},
        {&python.take_reference, "Py_IncRef"},
        {&python.drop_reference, "Py_DecRef"},
        {&python.fetch_error, "PyErr_Fetch"},
        {&python.restore_error, "PyErr_Restore"},
        {&python.clear_error, "PyErr_Clear"},
        {&python.set_error, "PyErr_SetString"},
        {&python.permission_error, "PyExc_PermissionError"},
        {&python.add_audit_hook, "PySys_AddAuditHook"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *address = dlsym(RTLD_DEFAULT, wanted[i].name);
        if (!address)
            return;
        *(void **)wanted[i].where = address;
    }
    *(void **)&python.last_instruction = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
    *(void **)&python.is_finalizing = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (!python.is_finalizing) /* its name before 3.13 */
        *(void **)&python.is_finalizing = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    is_found = python.is_finalizing != NULL;
}

bool find_python(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_up_python);
    return is_found;
}

void copy_text(object *value, char *text)
{
    text[0] = '\0';
    object *path = value ? python.path_of(value) : NULL;
    const char *said = path ? python.utf8(path, NULL) : NULL;
    if (path && !said) {
        python.clear_error();
        said = python.bytes(path);
    }
    if (said)
        snprintf(text, PATH_MAX, "%s", said);
    else
        python.clear_error();
    if (path)
        python.drop_reference(path);
}

void copy_argument(object *arguments, ptrdiff_t index, char *text)
{
    object *value = python.item(arguments, index);
    if (!value)
        python.clear_error();
    copy_text(value, text);
}

struct bytes bytes_in(object *arguments, ptrdiff_t index)
{
    struct bytes bytes = {NULL, 0};
    object *value = python.item(arguments, index);
    if (!value || python.bytes_and_size(value, &bytes.start, &bytes.number) != 0) {
        python.clear_error();
        return (struct bytes){NULL, 0};
    }
    return bytes;
}
