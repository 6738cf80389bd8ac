// The functions of libmpi that are called, found when they are needed: programs do not load MPI before.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

namespace shardlab {

struct MpiLibrary {
  decltype(&MPI_Init_thread) init_thread;
  decltype(&MPI_Initialized) initialized;
  decltype(&MPI_Finalized) finalized;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Query_thread) query_thread;
  decltype(&MPI_Comm_dup) comm_dup;
  decltype(&MPI_Comm_set_errhandler) comm_set_errhandler;
  decltype(&MPI_Comm_rank) comm_rank;
  decltype(&MPI_Error_string) error_string;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Test) test;
  decltype(&MPI_Get_count) get_count;
  decltype(&MPI_Iprobe) iprobe;
  decltype(&MPI_Cancel) cancel;
  MPI_Comm world;
  MPI_Datatype byte;
  MPI_Errhandler errors_return;

  // Throws IoError where libmpi cannot be loaded.
  static const MpiLibrary& load();
};

}  // namespace shardlab
