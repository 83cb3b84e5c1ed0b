//===- CudaCollectives.h - What ranks on GPUs exchange --------------------===//
//
// Private to this folder. Each rank is a process with a GPU of its own; NCCL
// moves the bytes, as work of a stream that may be capturing. A file for GPUs
// leaves it nothing else to do, unless it was asked for: sums are kernels, and
// parts are in one piece (lib/Collectives/Expand.cpp).
//
//   all_gather          ncclAllGather
//   all_reduce          ncclAllReduce, where the file says that NCCL combines
//   reduce_scatter      ncclReduceScatter, likewise
//   all_to_all          a send to and a receive from each rank of the group
//   collective_permute  a send, a receive, both or none; zeros if none arrives
//   partition_id        a fill with the rank's number
//
// For each division of the ranks into groups there is a communicator of NCCL.
// The first rank of a group makes its unique id, which the ranks' own messages
// carry to the others. If a rank is lost, another thread aborts all
// communicators, so that neither GPU nor process waits for ever.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDACOLLECTIVES_H
#define TENON_LIB_RUNTIME_CUDACOLLECTIVES_H

#include "Communicator.h"
#include "CudaDriverTable.h"
#include "NcclTable.h"

#include "tenon/Libraries/Collective.h"
#include "tenon/Libraries/Reducer.h"
#include "tenon/Runtime/Executor.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tenon::runtime {

class CudaContext;

class CudaCollectives {
public:
  /// `file` is the library's, empty for the one that is installed or lies
  /// beside the emulated driver.
  CudaCollectives(std::shared_ptr<CudaContext> context, Communicator &ranks,
                  int64_t count, std::string file);
  ~CudaCollectives();
  CudaCollectives(const CudaCollectives &) = delete;
  CudaCollectives &operator=(const CudaCollectives &) = delete;

  /// Has the ranks of the collective's groups meet. All ranks call it with the
  /// same descriptions in the same order. False with `error` filled in if there
  /// is no NCCL, a rank is lost, or GPUs do not exchange such a collective.
  bool prepare(const libraries::CollectiveDescription &description,
               libraries::Reducer reducer, Error &error);

  /// Puts a collective that was prepared into the stream; `arguments` are its
  /// operand, if it has one, and its result. Nothing if it worked, otherwise
  /// what has failed.
  std::string enqueue(const libraries::CollectiveDescription &description,
                      std::span<const CUdeviceptr> arguments, CUstream stream);

  /// What the rank receives of others in one call, in bytes.
  int64_t receivedIn(const libraries::CollectiveDescription &d) const {
    return libraries::receivedBytes(d, ranks.rank());
  }
  void countReceived(int64_t bytes) { received += uint64_t(bytes); }
  /// In all steps so far.
  uint64_t receivedBytes() const { return received; }

  /// Why what ranks exchanged may be wrong; empty if nothing has failed.
  std::string whyEnded();

private:
  /// The ranks of a group, this one among them, and how they meet.
  struct Group {
    std::vector<libraries::Participant> division; // of all ranks
    int64_t size = 0;
    std::vector<int64_t> members;
    ncclComm_t communicator = nullptr;
  };

  bool open(Error &error);
  bool meet(Group &group, Error &error);
  const Group &groupOf(const libraries::CollectiveDescription &d) const;
  ncclResult_t start(const libraries::CollectiveDescription &d,
                     std::span<const CUdeviceptr> arguments, CUstream stream);
  ncclResult_t permute(const libraries::CollectiveDescription &d,
                       const std::byte *from, std::byte *to, ncclComm_t all,
                       CUstream stream);
  /// By another thread. False if the thread that waits is inside NCCL, where
  /// nobody can wake it.
  bool abort(const std::string &loss);

  std::shared_ptr<CudaContext> context;
  Communicator &ranks;
  const int64_t count;
  std::string file;
  std::unique_ptr<NcclTable> nccl; // once it is open
  std::vector<Group> groups;
  CUresult failed = CUDA_SUCCESS; // of a fill
  uint64_t received = 0;
  /// Held while NCCL is called, and to all that follows.
  std::timed_mutex access;
  bool isAborted = false;
  std::string why;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDACOLLECTIVES_H
