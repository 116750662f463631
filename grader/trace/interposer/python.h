/*
 * Python's C API, as far as we call it; for location.c and the files of the guard.
 *
 * It is looked up by name, so that the interposer needs neither Python.h nor libpython and serves
 * every Python version and programs without Python.
 */
#ifndef GRADER_PYTHON_H
#define GRADER_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

/* An object of Python; we only pass pointers to them around. */
typedef void object;

struct python_functions {
    int (*is_initialized)(void);
    int (*is_finalizing)(void);
    void *(*this_thread_state)(void);
    int (*ensure_gil)(void);
    void (*release_gil)(int);
    object *(*current_frame)(void);   /* borrowed */
    object *(*frame_below)(object *); /* new reference */
    object *(*code_of)(object *);     /* new reference */
    int (*line_number)(object *);
    int (*last_instruction)(object *);            /* since 3.11; NULL before */
    object *(*attribute)(object *, const char *); /* new reference */
    object *(*value_of)(object *, const char *);  /* new reference */
    object *(*item)(object *, ptrdiff_t);         /* borrowed */
    object *(*path_of)(object *);                 /* new reference: text or bytes */
    const char *(*utf8)(object *, ptrdiff_t *);
    char *(*bytes)(object *);
    int (*bytes_and_size)(object *, const char **, ptrdiff_t *);
    void (*take_reference)(object *);
    void (*drop_reference)(object *);
    void (*fetch_error)(object **, object **, object **);
    void (*restore_error)(object *, object *, object *);
    void (*clear_error)(void);
    void (*set_error)(object *, const char *);
    object **permission_error;
    int (*add_audit_hook)(int (*)(const char *, object *, void *), void *);
};
extern struct python_functions python;

/* Looks all of them up, once; returns false where one is missing, as in programs without Python. */
bool find_python(void);

/* Copies what Python's text, bytes or path says to PATH_MAX bytes; empty for anything else. */
void copy_text(object *value, char *text);
/* The same of one of the arguments of an event. */
void copy_argument(object *arguments, ptrdiff_t index, char *text);

/* Bytes of Python; none for any other object. */
struct bytes {
    const char *start;
    ptrdiff_t number;
};

struct bytes bytes_in(object *arguments, ptrdiff_t index);

#endif
