//===- Devices.h - Simulated devices --------------------------------------===//
//
// Replicas times partitions, each running a function in a thread of its own.
// One runs at a time and goes on until it meets others, so that a run is the
// same every time and nothing else has to be safe against threads. Used by the
// collectives of Collective.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_REFERENCE_DEVICES_H
#define TENON_LIB_REFERENCE_DEVICES_H

#include "tenon/Reference/Interpreter.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

namespace tenon::reference {

/// Process `replica * partitions + partition` of a program.
class Devices {
public:
  Devices(int64_t replicas, int64_t partitions)
      : replicas(replicas), partitions(partitions),
        processes(replicas * partitions) {}

  const int64_t replicas, partitions;

  /// Runs `body` for every process; succeeds if all do.
  mlir::LogicalResult
  run(llvm::function_ref<mlir::LogicalResult(int64_t process)> body);

  /// Hands `given` to the other processes of `group`, which `process` belongs
  /// to, and returns what each of them gave, in the group's order. Fails, with
  /// a diagnostic at `op`, if they never come.
  mlir::FailureOr<std::vector<Tensors>> exchange(mlir::Operation *op,
                                                 int64_t process,
                                                 llvm::ArrayRef<int64_t> group,
                                                 Tensors given);

  /// Leaves a message for `target` on a channel.
  void send(int64_t channel, int64_t source, int64_t target, Tensors message);
  /// The oldest message from `source` on a channel. Fails, with a diagnostic at
  /// `op`, if none ever comes.
  mlir::FailureOr<Tensors> receive(mlir::Operation *op, int64_t channel,
                                   int64_t source, int64_t process);

  /// The functions whose results feed the devices, in order.
  void setFeed(std::vector<mlir::func::FuncOp> functions) {
    feed.assign(functions.begin(), functions.end());
  }
  /// Null if there is no more.
  mlir::func::FuncOp nextFeed();

private:
  enum class State { ready, waiting, ended };
  struct Process {
    State state = State::ready;
    /// Waits for a message, not for a group.
    bool receives = false;
    std::vector<Tensors> received;
  };
  /// What the processes of a group have given at one operation.
  using Meeting = std::map<int64_t, Tensors>;

  /// Lets the next process run that can; with `lock` held.
  void passOn();
  void waitForTurn(std::unique_lock<std::mutex> &lock, int64_t process);

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Process> processes;
  std::map<std::pair<mlir::Operation *, std::vector<int64_t>>, Meeting>
      meetings;
  /// By channel, source and target.
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<Tensors>> messages;
  std::deque<mlir::func::FuncOp> feed;
  int64_t turn = 0;
  bool stuck = false;
};

} // namespace tenon::reference

#endif // TENON_LIB_REFERENCE_DEVICES_H
