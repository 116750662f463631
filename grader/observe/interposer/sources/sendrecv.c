/* A send and a receive in one call: two records that wait for each other. */
#include <stdlib.h>

#include "communicators.h"
#include "fault_injection.h"
#include "lock_and_clock.h"
#include "recorder.h"
#include "requests.h"

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
typedef int replace_function(void *, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status *);

/* An exchange whose send waits for its receive: it stays safe, since both are posted. */
static int synchronous_exchange(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                                int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                                int source, int recvtag, MPI_Comm comm, MPI_Status *status)
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

/* MPI_Sendrecv, or MPI_Sendrecv_replace, whose two buffers are the same. */
static int send_and_receive(uint32_t function, const void *sendbuf, int sendcount,
                            MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                            int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                            MPI_Comm comm, MPI_Status *status)
{
    need_library();
    MPI_Status own;
    bool waits = sends_are_synchronous();
    struct exchange exchange = {
        message(function, IS_SEND | (waits ? SYNCHRONOUS : 0u), sendbuf, sendcount, sendtype, dest,
                sendtag, comm),
        message(function, IS_RECEIVE, NULL, recvcount, recvtype, source, recvtag, comm),
        {0},
        {0},
    };
    begin_exchange(&exchange);
    if (exchange.halves[0] != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    const struct payload *sent = &exchange.sent;
    exchange_function *of_two_buffers = waits ? synchronous_exchange : real.Sendrecv;
    replace_function *of_one_buffer = waits ? synchronous_replace : real.Sendrecv_replace;
    int error;
    if (function == NAME_Sendrecv_replace && !sent->copy)
        error = of_one_buffer(recvbuf, recvcount, recvtype, dest, sendtag, source, recvtag, comm,
                              status);
    else
        error = of_two_buffers(sent->buffer, sent->count, sent->datatype, dest, sendtag, recvbuf,
                               recvcount, recvtype, source, recvtag, comm, status);
    free(sent->copy);
    if (error == MPI_SUCCESS)
        complete_exchange(&exchange, status);
    end_exchange(&exchange, error);
    return error;
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status *status)
{
    return send_and_receive(NAME_Sendrecv, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                            recvcount, recvtype, source, recvtag, comm, status);
}

int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return send_and_receive(NAME_Sendrecv_replace, buf, count, datatype, dest, sendtag, buf, count,
                            datatype, source, recvtag, comm, status);
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
        message(NAME_Isendrecv_replace, IS_RECEIVE | CREATES_REQUEST, NULL, count, datatype, source,
                recvtag, comm),
        {0},
        {0},
    };
    begin_exchange(&exchange);
    const struct payload *sent = &exchange.sent;
    int error = sent->copy
                    ? real.Isendrecv(sent->buffer, sent->count, sent->datatype, dest, sendtag, buf,
                                     count, datatype, source, recvtag, comm, request)
                    : real.Isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag,
                                             comm, request);
    track_posted_exchange(request, &exchange, error);
    end_exchange(&exchange, error);
    return error;
}
