/*
 * Python's C API, as far as we call it; for python_location.c and the files of the guard.
 *
 * The names are weak: the program brings them, so that the interposer needs neither Python.h nor
 * libpython and serves every Python version. In programs without Python they are all NULL.
 */
#ifndef GRADER_PYTHON_H
#define GRADER_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

/* An object of Python; we only pass pointers to them around. */
typedef void object;

#define WEAK __attribute__((weak))

WEAK int Py_IsInitialized(void);
WEAK int Py_IsFinalizing(void);  /* since 3.13 */
WEAK int _Py_IsFinalizing(void); /* the same until 3.12 */
WEAK void *PyGILState_GetThisThreadState(void);
WEAK int PyGILState_Ensure(void);
WEAK void PyGILState_Release(int);

WEAK object *PyEval_GetFrame(void);                           /* borrowed */
WEAK object *PyEval_GetLocals(void);                          /* borrowed */
WEAK object *PyFrame_GetBack(object *);                       /* new reference */
WEAK object *PyFrame_GetCode(object *);                       /* new reference */
WEAK object *PyObject_GetAttrString(object *, const char *);  /* new reference */
WEAK object *PyMapping_GetItemString(object *, const char *); /* new reference */
WEAK object *PyTuple_GetItem(object *, ptrdiff_t);            /* borrowed */
WEAK int PyFrame_GetLineNumber(object *);
WEAK int PyFrame_GetLasti(object *);
WEAK int Py_IsNone(object *);
WEAK int PyUnicode_FSConverter(object *, object **bytes); /* new reference */
WEAK char *PyBytes_AsString(object *);
WEAK int PyBytes_AsStringAndSize(object *, const char **, ptrdiff_t *);
WEAK void Py_IncRef(object *);
WEAK void Py_DecRef(object *); /* does nothing with NULL */

WEAK void PyErr_Fetch(object **, object **, object **);
WEAK void PyErr_Restore(object *, object *, object *);
WEAK void PyErr_Clear(void);
WEAK void PyErr_SetString(object *, const char *);
WEAK extern object *PyExc_PermissionError;
WEAK int PySys_AddAuditHook(int (*)(const char *, object *, void *), void *);

/* Copies what Python's text, bytes or path says to PATH_MAX bytes; empty for anything else. */
void copy_text(object *value, char *text);
/* The same of an attribute of an object. */
void copy_attribute(object *owner, const char *name, char *text);

/* Bytes of Python; none for any other object. */
struct bytes {
    const char *start;
    ptrdiff_t number;
};

/* Those that are one of the arguments of an event. */
struct bytes bytes_in(object *arguments, ptrdiff_t index);

/* Borrowed: as long as a frame runs, so does the one that called it. */
object *frame_below(object *frame);

#endif
