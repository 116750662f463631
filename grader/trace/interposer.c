/*
 * The MPI functions that need more than the generated wrappers of generate.py give them: start
 * and end of MPI, point-to-point messages, probes. Waiting for requests is in waiting.c.
 *
 * Each wrapper passes the caller's arguments on as they are; status objects above all, since
 * MPI leaves parts of them alone that must stay so. Only a status that the caller did not want
 * is replaced by our own.
 */
#include <stdlib.h>

#include "alteration.h"
#include "communicators.h"
#include "recorder.h"
#include "requests.h"

/* ---- start and end ---- */

int MPI_Init(int *argc, char ***argv)
{
    need_library();
    attach_memory();
    struct details details = plain_call(NAME_Init);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Init(argc, argv);
    if (error == MPI_SUCCESS)
        introduce_rank();
    end_call(call, error);
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    need_library();
    attach_memory();
    struct details details = plain_call(NAME_Init_thread);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS)
        introduce_rank();
    end_call(call, error);
    return error;
}

int MPI_Finalize(void)
{
    struct details details = plain_call(NAME_Finalize);
    details.comm = MPI_COMM_WORLD; /* all its members have to come before any can leave */
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    count_sent_messages(); /* afterwards there is nobody to ask */
    int error = real.Finalize();
    end_call(call, error);
    retire_rank();
    return error;
}

/* The phase marks of the harness; to MPI itself they mean nothing and are not passed on. */
int MPI_Pcontrol(const int level, ...)
{
    if (is_attached() && !set_phase(level)) {
        struct details details = plain_call(NAME_Pcontrol);
        end_call(begin_call(&details, NOTHING_WAITED), MPI_SUCCESS);
    }
    return MPI_SUCCESS;
}

/*
 * Lets MPI go on with what is still under way: the harness calls it for a rank that has returned
 * from the student's call. Nothing is recorded, and no word of the judge's memory changes.
 */
void grader_progress(void)
{
    /* MPI goes on inside of any call; a probe for a message of our own changes nothing. */
    enum { OWN_RANK = 0, HIGHEST_TAG = 32767 };
    int flag;
    if (is_attached())
        real.Iprobe(OWN_RANK, HIGHEST_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

/* ---- communicators that come and go in their own way ---- */

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    struct details details = call_on(NAME_Comm_idup, comm, NO_PEER, MPI_ANY_TAG);
    details.flags = CREATES_REQUEST;
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Comm_idup(comm, newcomm, request);
    if (error == MPI_SUCCESS) {
        know_duplicate(*newcomm, comm);
        track_request(request, call, communicator_of(comm));
    }
    end_call(call, error);
    return error;
}

int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    struct details details = call_on(NAME_Comm_idup_with_info, comm, NO_PEER, MPI_ANY_TAG);
    details.flags = CREATES_REQUEST;
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Comm_idup_with_info(comm, info, newcomm, request);
    if (error == MPI_SUCCESS) {
        know_duplicate(*newcomm, comm);
        track_request(request, call, communicator_of(comm));
    }
    end_call(call, error);
    return error;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    need_library();
    struct details details = call_on(NAME_Comm_free, *comm, NO_PEER, MPI_ANY_TAG);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    forget_communicator(*comm);
    int error = real.Comm_free(comm);
    end_call(call, error);
    return error;
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    need_library();
    struct details details = call_on(NAME_Comm_disconnect, *comm, NO_PEER, MPI_ANY_TAG);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    forget_communicator(*comm);
    int error = real.Comm_disconnect(comm);
    end_call(call, error);
    return error;
}

/* ---- blocking sends and receives ---- */

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static int blocking_send(send_function *send, uint32_t function, uint32_t flags, const void *buf,
                         int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct details details =
        message(function, IS_SEND | flags, buf, count, datatype, dest, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    struct payload sent = payload_of(call, buf, count, datatype, comm);
    int error = send(sent.buffer, sent.count, sent.datatype, dest, tag, comm);
    if (error == MPI_SUCCESS)
        mark_completed(call, error);
    free(sent.copy);
    end_call(call, error);
    return error;
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    need_library();
    bool waits = sends_are_synchronous();
    return blocking_send(waits ? real.Ssend : real.Send, NAME_Send, waits ? SYNCHRONOUS : 0, buf,
                         count, datatype, dest, tag, comm);
}

int MPI_Rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    need_library();
    bool waits = sends_are_synchronous();
    return blocking_send(waits ? real.Ssend : real.Rsend, NAME_Rsend, waits ? SYNCHRONOUS : 0, buf,
                         count, datatype, dest, tag, comm);
}

int MPI_Ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    need_library();
    return blocking_send(real.Ssend, NAME_Ssend, SYNCHRONOUS, buf, count, datatype, dest, tag,
                         comm);
}

int MPI_Bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    need_library();
    return blocking_send(real.Bsend, NAME_Bsend, 0, buf, count, datatype, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    MPI_Status own;
    struct details details =
        message(NAME_Recv, IS_RECEIVE, NULL, count, datatype, source, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    if (call != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    int error = real.Recv(buf, count, datatype, source, tag, comm, status);
    if (call != NOT_RECORDED && error == MPI_SUCCESS) {
        mark_matched(call, communicator_of(comm), status);
        mark_completed(call, error);
    }
    end_call(call, error);
    return error;
}

/* ---- non-blocking sends and receives ---- */

typedef int isend_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int nonblocking_send(isend_function *send, uint32_t function, uint32_t flags,
                            const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                            MPI_Comm comm, MPI_Request *request)
{
    struct details details = message(function, IS_SEND | CREATES_REQUEST | flags, buf, count,
                                     datatype, dest, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    struct payload sent = payload_of(call, buf, count, datatype, comm);
    int error = send(sent.buffer, sent.count, sent.datatype, dest, tag, comm, request);
    if (error == MPI_SUCCESS)
        track_send(request, call, communicator_of(comm), sent.copy);
    else
        free(sent.copy);
    end_call(call, error);
    return error;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    need_library();
    bool waits = sends_are_synchronous();
    return nonblocking_send(waits ? real.Issend : real.Isend, NAME_Isend, waits ? SYNCHRONOUS : 0,
                            buf, count, datatype, dest, tag, comm, request);
}

int MPI_Irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    need_library();
    bool waits = sends_are_synchronous();
    return nonblocking_send(waits ? real.Issend : real.Irsend, NAME_Irsend,
                            waits ? SYNCHRONOUS : 0, buf, count, datatype, dest, tag, comm,
                            request);
}

int MPI_Issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    need_library();
    return nonblocking_send(real.Issend, NAME_Issend, SYNCHRONOUS, buf, count, datatype, dest, tag,
                            comm, request);
}

int MPI_Ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    need_library();
    return nonblocking_send(real.Ibsend, NAME_Ibsend, 0, buf, count, datatype, dest, tag, comm,
                            request);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    struct details details = message(NAME_Irecv, IS_RECEIVE | CREATES_REQUEST, NULL, count,
                                     datatype, source, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Irecv(buf, count, datatype, source, tag, comm, request);
    if (error == MPI_SUCCESS)
        track_request(request, call, communicator_of(comm));
    end_call(call, error);
    return error;
}

/* ---- a send and a receive in one call: two records that wait for each other ---- */

struct exchange {
    struct details send;
    struct details receive;
    uint64_t halves[2]; /* sequences of the send and of the receive */
    struct payload sent;
};

static void begin_exchange(struct exchange *exchange)
{
    exchange->halves[0] = begin_call(&exchange->send, NOTHING_WAITED);
    exchange->halves[1] = also_begin(exchange->halves[0], &exchange->receive);
    wait_for_each_other(exchange->halves, 2);
    const struct details *send = &exchange->send;
    exchange->sent = payload_of(exchange->halves[0], send->sent, (int)send->num_elements,
                                send->datatype, send->comm);
}

static void end_exchange(const struct exchange *exchange, int error)
{
    also_end(exchange->halves[1], error);
    end_call(exchange->halves[0], error);
}

static void complete_exchange(const struct exchange *exchange, const MPI_Status *status)
{
    if (exchange->halves[0] == NOT_RECORDED)
        return;
    mark_matched(exchange->halves[1], communicator_of(exchange->receive.comm), status);
    mark_completed(exchange->halves[1], MPI_SUCCESS);
    mark_completed(exchange->halves[0], MPI_SUCCESS);
}

typedef int exchange_function(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype,
                              int, int, MPI_Comm, MPI_Status *);

/* An exchange whose send waits for its receive: it stays safe, since both are posted. */
static int synchronous_exchange(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                                int dest, int sendtag, void *recvbuf, int recvcount,
                                MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                                MPI_Status *status)
{
    MPI_Request send, receive;
    int error = real.Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &receive);
    if (error != MPI_SUCCESS)
        return error;
    error = real.Issend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);
    if (error != MPI_SUCCESS) {
        real.Cancel(&receive);
        real.Wait(&receive, MPI_STATUS_IGNORE);
        return error;
    }
    error = real.Wait(&receive, status);
    int send_error = real.Wait(&send, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS ? send_error : error;
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status *status)
{
    need_library();
    MPI_Status own;
    bool waits = sends_are_synchronous();
    struct exchange exchange = {
        message(NAME_Sendrecv, IS_SEND | (waits ? SYNCHRONOUS : 0u), sendbuf, sendcount, sendtype,
                dest, sendtag, comm),
        message(NAME_Sendrecv, IS_RECEIVE, NULL, recvcount, recvtype, source, recvtag, comm),
        {0},
        {0},
    };
    begin_exchange(&exchange);
    if (exchange.halves[0] != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    const struct payload *sent = &exchange.sent;
    exchange_function *send_and_receive = waits ? synchronous_exchange : real.Sendrecv;
    int error = send_and_receive(sent->buffer, sent->count, sent->datatype, dest, sendtag, recvbuf,
                                 recvcount, recvtype, source, recvtag, comm, status);
    free(sent->copy);
    if (error == MPI_SUCCESS)
        complete_exchange(&exchange, status);
    end_exchange(&exchange, error);
    return error;
}

/* Sends a packed copy of buf, so that the receive may fill buf meanwhile. */
static int synchronous_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                               int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    int num_bytes = 0, position = 0;
    int error = real.Pack_size(count, datatype, comm, &num_bytes);
    if (error != MPI_SUCCESS)
        return error;
    void *copy = allocate((size_t)num_bytes + 1);
    error = real.Pack(buf, count, datatype, copy, num_bytes, &position, comm);
    if (error == MPI_SUCCESS)
        error = synchronous_exchange(copy, position, MPI_PACKED, dest, sendtag, buf, count,
                                     datatype, source, recvtag, comm, status);
    free(copy);
    return error;
}

int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    need_library();
    MPI_Status own;
    bool waits = sends_are_synchronous();
    struct exchange exchange = {
        message(NAME_Sendrecv_replace, IS_SEND | (waits ? SYNCHRONOUS : 0u), buf, count, datatype,
                dest, sendtag, comm),
        message(NAME_Sendrecv_replace, IS_RECEIVE, NULL, count, datatype, source, recvtag, comm),
        {0},
        {0},
    };
    begin_exchange(&exchange);
    if (exchange.halves[0] != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    const struct payload *sent = &exchange.sent;
    exchange_function *send_and_receive = waits ? synchronous_exchange : real.Sendrecv;
    int error =
        sent->copy ? send_and_receive(sent->buffer, sent->count, sent->datatype, dest, sendtag,
                                      buf, count, datatype, source, recvtag, comm, status)
        : waits    ? synchronous_replace(buf, count, datatype, dest, sendtag, source, recvtag,
                                         comm, status)
                   : real.Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag,
                                           comm, status);
    free(sent->copy);
    if (error == MPI_SUCCESS)
        complete_exchange(&exchange, status);
    end_exchange(&exchange, error);
    return error;
}

static void track_posted_exchange(const MPI_Request *request, const struct exchange *exchange,
                                  int error)
{
    if (error == MPI_SUCCESS)
        track_exchange(request, exchange->halves[0], exchange->halves[1],
                       communicator_of(exchange->send.comm), exchange->sent.copy);
    else
        free(exchange->sent.copy);
}

/* One request for both messages; there is no synchronous way to make it, so it stays standard. */
int MPI_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Request *request)
{
    struct exchange exchange = {
        message(NAME_Isendrecv, IS_SEND | CREATES_REQUEST, sendbuf, sendcount, sendtype, dest,
                sendtag, comm),
        message(NAME_Isendrecv, IS_RECEIVE | CREATES_REQUEST, NULL, recvcount, recvtype, source,
                recvtag, comm),
        {0},
        {0},
    };
    begin_exchange(&exchange);
    const struct payload *sent = &exchange.sent;
    int error = real.Isendrecv(sent->buffer, sent->count, sent->datatype, dest, sendtag, recvbuf,
                               recvcount, recvtype, source, recvtag, comm, request);
    track_posted_exchange(request, &exchange, error);
    end_exchange(&exchange, error);
    return error;
}

int MPI_Isendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                          int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    struct exchange exchange = {
        message(NAME_Isendrecv_replace, IS_SEND | CREATES_REQUEST, buf, count, datatype, dest,
                sendtag, comm),
        message(NAME_Isendrecv_replace, IS_RECEIVE | CREATES_REQUEST, NULL, count, datatype,
                source, recvtag, comm),
        {0},
        {0},
    };
    begin_exchange(&exchange);
    const struct payload *sent = &exchange.sent;
    int error = sent->copy ? real.Isendrecv(sent->buffer, sent->count, sent->datatype, dest,
                                            sendtag, buf, count, datatype, source, recvtag, comm,
                                            request)
                           : real.Isendrecv_replace(buf, count, datatype, dest, sendtag, source,
                                                    recvtag, comm, request);
    track_posted_exchange(request, &exchange, error);
    end_exchange(&exchange, error);
    return error;
}

/* ---- probes, and receives of what they found ---- */

static struct details probe_of(uint32_t function, int source, int tag, MPI_Comm comm)
{
    struct details details = call_on(function, comm, source, tag);
    details.flags = IS_PROBE;
    return details;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    struct details details = probe_of(NAME_Probe, source, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    if (call != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    int error = real.Probe(source, tag, comm, status);
    if (call != NOT_RECORDED && error == MPI_SUCCESS)
        mark_matched(call, communicator_of(comm), status);
    end_call(call, error);
    return error;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own;
    struct details details = probe_of(NAME_Mprobe, source, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    if (call != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    int error = real.Mprobe(source, tag, comm, message, status);
    if (call != NOT_RECORDED && error == MPI_SUCCESS) {
        mark_matched(call, communicator_of(comm), status);
        track_message(*message, comm, status);
    }
    end_call(call, error);
    return error;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    MPI_Status own;
    struct details details = probe_of(NAME_Iprobe, source, tag, comm);
    if (!is_recording())
        return real.Iprobe(source, tag, comm, flag, status);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    uint64_t begun_ns = now_ns();
    int error = real.Iprobe(source, tag, comm, flag, status);
    bool is_found = error == MPI_SUCCESS && *flag;
    uint64_t call = record_poll(&details, NOTHING_WAITED, begun_ns,
                                is_found ? POLL_FOUND : POLL_EMPTY, error);
    if (is_found)
        mark_matched(call, communicator_of(comm), status);
    return error;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status)
{
    MPI_Status own;
    struct details details = probe_of(NAME_Improbe, source, tag, comm);
    if (!is_recording())
        return real.Improbe(source, tag, comm, flag, message, status);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    uint64_t begun_ns = now_ns();
    int error = real.Improbe(source, tag, comm, flag, message, status);
    bool is_found = error == MPI_SUCCESS && *flag;
    uint64_t call = record_poll(&details, NOTHING_WAITED, begun_ns,
                                is_found ? POLL_FOUND : POLL_EMPTY, error);
    if (is_found) {
        mark_matched(call, communicator_of(comm), status);
        track_message(*message, comm, status);
    }
    return error;
}

int MPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message_,
              MPI_Status *status)
{
    need_library();
    MPI_Status own;
    struct details details = message(NAME_Mrecv, IS_RECEIVE, NULL, count, datatype, NO_PEER,
                                     MPI_ANY_TAG, MPI_COMM_NULL);
    if (is_attached())
        take_message(*message_, &details);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    if (call != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    int error = real.Mrecv(buf, count, datatype, message_, status);
    if (call != NOT_RECORDED && error == MPI_SUCCESS) {
        mark_matched(call, details.communicator, status);
        mark_completed(call, error);
    }
    end_call(call, error);
    return error;
}

int MPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message_,
               MPI_Request *request)
{
    need_library();
    struct details details = message(NAME_Imrecv, IS_RECEIVE | CREATES_REQUEST, NULL, count,
                                     datatype, NO_PEER, MPI_ANY_TAG, MPI_COMM_NULL);
    if (is_attached())
        take_message(*message_, &details);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Imrecv(buf, count, datatype, message_, request);
    if (error == MPI_SUCCESS)
        track_request(request, call, details.communicator);
    end_call(call, error);
    return error;
}
