/* Refuses code that claims to come from a file of somebody else; guard.c calls these on events. */
#ifndef GRADER_CLAIMED_CODE_H
#define GRADER_CLAIMED_CODE_H

#include "python.h"

int on_code(object *arguments);
int on_compile(object *arguments);
int on_marshal(object *arguments);

#endif
