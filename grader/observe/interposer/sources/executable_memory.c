/*
 * Stands in front of the C library's mmap, to refuse a submission memory that may be run.
 *
 * Python announces that it maps memory, but not what for. The call itself follows in the same
 * thread: so the announcement says who asks, and the call whether code may run there. Whatever
 * loads installed libraries is asked nothing.
 */
#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "refusals.h"

static _Thread_local bool is_for_submission;

int on_mapping(object *arguments)
{
    (void)arguments;
    is_for_submission = is_submission_asking();
    return 0;
}

/* Not checked by a sanitizer: it maps memory itself, before it is ready to check anything. */
__attribute__((no_sanitize("address"))) void *mmap(void *address, size_t num_bytes, int protection,
                                                   int flags, int file, off_t offset)
{
    bool is_asked_for = is_for_submission;
    is_for_submission = false;
    if (is_asked_for && (protection & PROT_EXEC) && refuses_call("maps executable memory (mmap)")) {
        errno = EPERM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, num_bytes, protection, flags, file, offset);
}

/* What programs call that were compiled for large files; the same where addresses have 64 bits. */
__attribute__((alias("mmap"))) void *mmap64(void *, size_t, int, int, int, off_t);
