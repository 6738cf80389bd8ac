#include "virtualdev/transports/mpi_library.h"

#include <dlfcn.h>

#include "runtime/base/error.h"

namespace shardlab {
namespace {

void* find(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) throw IoError(fmt::format("libmpi lacks {}", name));
  return symbol;
}

MpiLibrary loaded() {
  // Global: Open MPI's own plugins look for its symbols there.
  void* library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw IoError(fmt::format("Open MPI cannot be loaded: {}", dlerror()));
  MpiLibrary mpi{};
  auto take = [&](auto& function, const char* name) { function = reinterpret_cast<std::decay_t<decltype(function)>>(find(library, name)); };
  take(mpi.init_thread, "MPI_Init_thread");
  take(mpi.initialized, "MPI_Initialized");
  take(mpi.finalized, "MPI_Finalized");
  take(mpi.finalize, "MPI_Finalize");
  take(mpi.query_thread, "MPI_Query_thread");
  take(mpi.comm_dup, "MPI_Comm_dup");
  take(mpi.comm_set_errhandler, "MPI_Comm_set_errhandler");
  take(mpi.comm_rank, "MPI_Comm_rank");
  take(mpi.error_string, "MPI_Error_string");
  take(mpi.isend, "MPI_Isend");
  take(mpi.irecv, "MPI_Irecv");
  take(mpi.test, "MPI_Test");
  take(mpi.get_count, "MPI_Get_count");
  take(mpi.iprobe, "MPI_Iprobe");
  take(mpi.cancel, "MPI_Cancel");
  take(mpi.world, "ompi_mpi_comm_world");  // what the macros of mpi.h name
  take(mpi.byte, "ompi_mpi_byte");
  take(mpi.errors_return, "ompi_mpi_errors_return");
  return mpi;
}

}  // namespace

const MpiLibrary& MpiLibrary::load() {
  static const MpiLibrary library = loaded();
  return library;
}

}  // namespace shardlab
