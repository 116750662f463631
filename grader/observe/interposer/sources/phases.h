/*
 * In whose phase a call is made, and who may begin another phase.
 *
 * recorder.c enters and leaves the phase of each call; MPI_Pcontrol sets phases; fault_injection.c
 * asks.
 */
#ifndef GRADER_PHASES_H
#define GRADER_PHASES_H

#include <stdbool.h>

#include "layout.h"

/* What MPI_Pcontrol sets; false when it is not the harness that asks. */
bool set_phase(int level);

/* The phase of a call that this thread makes now. */
int phase_of_call(void);
/* Returns the same as the call begins: what MPI has counted so far goes to the phase before. */
int enter_phase(void);
/* As the call ends: what MPI has counted since goes to the phase that was entered. */
void leave_phase(int entered);

/* The header of the judge's memory, to a thread that is in the student's phase; else NULL. */
struct header *student_header(void);

/* Notes what was sent since the last look, as part of the present phase; before MPI_Finalize. */
void count_sent_messages(void);
/* Leaves out what was sent since the last look: MPI made messages of its own. */
void forget_sent_messages(void);

#endif
