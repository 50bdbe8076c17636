// libpq, as the system has it. Only the trait PostgreSQL of the package needs it.
//
// It is a system library target, unlike its neighbours: where the header lies differs between distributions, and pkg-config
// says where. Swift imports all that is used of it as it is.
#ifndef DRIFTLESS_CPOSTGRES_H
#define DRIFTLESS_CPOSTGRES_H
#include <libpq-fe.h>
#endif
