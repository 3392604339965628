/* Ranks that MPI starts (mpirun, srun). Without MPI in the build there are none. */
#ifndef HWS_RANKS_RANKS_MPI_H
#define HWS_RANKS_RANKS_MPI_H

#include "ranks/ranks.h"

/* Whether the build has MPI. */
int ranks_mpi_built_in(void);

/* Starts MPI if a launcher has started several processes, and sets ranks_here. STATUS_BAD_INPUT if it has
   and MPI is not built in. */
status_code ranks_mpi_start(failure *failure);

/*
 * Together: ends MPI, when all have come here. A rank that comes with an exit code other than 0 gives the others some
 * seconds; if one does not come, all processes are ended. Before that, and where the first rank, which speaks for all,
 * has not failed itself, `alone` is called: it may say why this rank has.
 */
void ranks_mpi_end(int exit_code, void (*alone)(void));

#endif
