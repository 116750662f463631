/* Reads Python's texts and frames. */
#include "python.h"

#include <limits.h>
#include <stdio.h>

void copy_text(object *value, char *text)
{
    text[0] = '\0';
    object *bytes = NULL;
    if (value && PyUnicode_FSConverter(value, &bytes))
        snprintf(text, PATH_MAX, "%s", PyBytes_AsString(bytes));
    else
        PyErr_Clear();
    Py_DecRef(bytes);
}

void copy_attribute(object *owner, const char *name, char *text)
{
    object *value = PyObject_GetAttrString(owner, name);
    copy_text(value, text);
    Py_DecRef(value);
}

struct bytes bytes_in(object *arguments, ptrdiff_t index)
{
    struct bytes bytes = {NULL, 0};
    object *value = PyTuple_GetItem(arguments, index);
    if (!value || PyBytes_AsStringAndSize(value, &bytes.start, &bytes.number) != 0)
        PyErr_Clear();
    return bytes;
}

object *frame_below(object *frame)
{
    object *below = PyFrame_GetBack(frame);
    Py_DecRef(below);
    return below;
}
