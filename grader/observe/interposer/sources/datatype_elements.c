/* What the elements of a message are, and how one of them is changed. */
#include "datatype_elements.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lock_and_clock.h"
#include "pickles.h"

enum number { NUMBER_UNTYPED, NUMBER_WHOLE, NUMBER_FLOAT, NUMBER_DOUBLE, NUMBER_LONG_DOUBLE };

struct element {
    enum number number;
    size_t num_bytes;
};
static const struct element UNTYPED = {NUMBER_UNTYPED, 1};

/* ---- which type ---- */

static bool is_among(const char *name, const char *const names[])
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* By its name, since the same type has several handles. Complex numbers are two elements. */
static struct element element_of_predefined(MPI_Datatype datatype)
{
    static const char *const floats[] = {"MPI_FLOAT",
                                         "MPI_REAL",
                                         "MPI_REAL4",
                                         "MPI_COMPLEX",
                                         "MPI_COMPLEX8",
                                         "MPI_C_COMPLEX",
                                         "MPI_C_FLOAT_COMPLEX",
                                         "MPI_CXX_FLOAT_COMPLEX",
                                         NULL};
    static const char *const doubles[] = {"MPI_DOUBLE",
                                          "MPI_DOUBLE_PRECISION",
                                          "MPI_REAL8",
                                          "MPI_DOUBLE_COMPLEX",
                                          "MPI_COMPLEX16",
                                          "MPI_C_DOUBLE_COMPLEX",
                                          "MPI_CXX_DOUBLE_COMPLEX",
                                          NULL};
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;
    MPI_Count num_bytes = 0;
    real.Type_get_name(datatype, name, &length);
    real.Type_size_x(datatype, &num_bytes);
    if (is_among(name, floats))
        return (struct element){NUMBER_FLOAT, sizeof(float)};
    if (is_among(name, doubles))
        return (struct element){NUMBER_DOUBLE, sizeof(double)};
    if (strcmp(name, "MPI_LONG_DOUBLE") == 0)
        return (struct element){NUMBER_LONG_DOUBLE, sizeof(long double)};
    /* Single bytes are more often the memory of something else than numbers of their own. */
    return num_bytes > 1 ? (struct element){NUMBER_WHOLE, (size_t)num_bytes} : UNTYPED;
}

static struct element element_of(MPI_Datatype datatype);

/* The same, of a handle that Type_get_contents gave us, which has to be freed if it was made. */
static struct element element_of_content(MPI_Datatype *datatype)
{
    int num_integers, num_addresses, num_datatypes, combiner;
    struct element element = element_of(*datatype);
    real.Type_get_envelope(*datatype, &num_integers, &num_addresses, &num_datatypes, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        real.Type_free(datatype);
    return element;
}

/* Returns the type that all elements have; UNTYPED where they have several. */
static struct element element_of(MPI_Datatype datatype)
{
    int num_integers, num_addresses, num_datatypes, combiner;
    if (real.Type_get_envelope(datatype, &num_integers, &num_addresses, &num_datatypes,
                               &combiner) != MPI_SUCCESS)
        return UNTYPED;
    if (combiner == MPI_COMBINER_NAMED)
        return element_of_predefined(datatype);
    if (num_datatypes < 1)
        return UNTYPED;
    int *integers = allocate((size_t)num_integers * sizeof *integers);
    MPI_Aint *addresses = allocate((size_t)num_addresses * sizeof *addresses);
    MPI_Datatype *datatypes = allocate((size_t)num_datatypes * sizeof *datatypes);
    struct element element = UNTYPED;
    if (real.Type_get_contents(datatype, num_integers, num_addresses, num_datatypes, integers,
                               addresses, datatypes) == MPI_SUCCESS) {
        element = element_of_content(&datatypes[0]);
        for (int i = 1; i < num_datatypes; i++)
            if (element_of_content(&datatypes[i]).number != element.number)
                element = UNTYPED;
    }
    free(integers);
    free(addresses);
    free(datatypes);
    return element;
}

/* ---- one number ---- */

static long double changed(long double value, long double largest)
{
    if (!isfinite(value))
        return 1;
    long double size = fabsl(value);
    if (size > largest / 4)
        return value / 2;
    return value + copysignl(size > 1 ? size : 1, value);
}

static void change_float(unsigned char *at)
{
    float value;
    memcpy(&value, at, sizeof value);
    value = (float)changed(value, FLT_MAX);
    memcpy(at, &value, sizeof value);
}

static void change_double(unsigned char *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    value = (double)changed(value, DBL_MAX);
    memcpy(at, &value, sizeof value);
}

static void change_long_double(unsigned char *at)
{
    long double value;
    memcpy(&value, at, sizeof value);
    value = changed(value, LDBL_MAX);
    memcpy(at, &value, sizeof value);
}

static void change_big_endian_double(unsigned char *at)
{
    unsigned char turned[sizeof(double)];
    for (size_t i = 0; i < sizeof turned; i++)
        turned[i] = at[sizeof turned - 1 - i];
    change_double(turned);
    for (size_t i = 0; i < sizeof turned; i++)
        at[i] = turned[sizeof turned - 1 - i];
}

/* Whether bytes, read as a floating-point number, have a size that people compute with. */
static bool is_usual(long double value, long double range)
{
    return value == 0 || (fabsl(value) > 1 / range && fabsl(value) < range);
}

static bool is_usual_float(const unsigned char *at)
{
    float value;
    memcpy(&value, at, sizeof value);
    return is_usual(value, 1e20L);
}

static bool is_usual_double(const unsigned char *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return is_usual(value, 1e60L);
}

/*
 * Changes what may be a double, two floats, a whole number or text. Two floats mostly read as a
 * usual double; so the higher one is changed in its own right as well, which leaves a double usual.
 */
static void change_untyped(unsigned char *at, size_t num_bytes)
{
    size_t half = sizeof(float);
    bool is_double = num_bytes == sizeof(double) && is_usual_double(at);
    bool are_floats =
        num_bytes == sizeof(double) && is_usual_float(at) && is_usual_float(&at[half]);
    if (is_double)
        change_double(at);
    if (are_floats)
        change_float(&at[half]);
    else if (num_bytes == sizeof(float) && is_usual_float(at))
        change_float(at);
    else if (!is_double)
        at[0] ^= 1;
}

/* ---- one of many ---- */

static size_t chosen(uint64_t position, size_t number)
{
    return (size_t)((unsigned __int128)position * number >> 64);
}

static bool change_one_of(unsigned char *bytes, size_t num_bytes, struct element element,
                          uint64_t position)
{
    if (element.number == NUMBER_UNTYPED) {
        size_t group = num_bytes >= sizeof(double)  ? sizeof(double)
                       : num_bytes >= sizeof(float) ? sizeof(float)
                                                    : 1;
        if (num_bytes == 0)
            return false;
        change_untyped(&bytes[group * chosen(position, num_bytes / group)], group);
        return true;
    }
    if (num_bytes < element.num_bytes)
        return false;
    unsigned char *at = &bytes[element.num_bytes * chosen(position, num_bytes / element.num_bytes)];
    if (element.number == NUMBER_FLOAT)
        change_float(at);
    else if (element.number == NUMBER_DOUBLE)
        change_double(at);
    else if (element.number == NUMBER_LONG_DOUBLE)
        change_long_double(at);
    else
        at[0] ^= 1; /* the lowest bit: all machines that we run on are little-endian */
    return true;
}

bool change_element(unsigned char *bytes, size_t num_bytes, MPI_Datatype datatype,
                    uint64_t position)
{
    MPI_Count item_num_bytes = 0;
    real.Type_size_x(datatype, &item_num_bytes);
    if (item_num_bytes != 1 || !is_pickle(bytes, (int64_t)num_bytes))
        return change_one_of(bytes, num_bytes, element_of(datatype), position);
    struct pickled_numbers numbers = numbers_in_pickle(bytes, num_bytes, position);
    if (numbers.kind == NUMBER_BIG_ENDIAN)
        change_big_endian_double(&bytes[numbers.begin]);
    else
        return change_one_of(&bytes[numbers.begin], numbers.num_bytes, UNTYPED, position);
    return true;
}

bool is_without_gaps(MPI_Datatype datatype, int64_t item_num_bytes)
{
    MPI_Aint lower_bound, extent, true_lower_bound, true_extent;
    return real.Type_get_extent(datatype, &lower_bound, &extent) == MPI_SUCCESS &&
           real.Type_get_true_extent(datatype, &true_lower_bound, &true_extent) == MPI_SUCCESS &&
           lower_bound == 0 && true_lower_bound == 0 && extent == item_num_bytes &&
           true_extent == item_num_bytes;
}
