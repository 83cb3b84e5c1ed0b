//===- Processes.h - A step that several processes run together -----------===//
//
// `mpirun -n 4 tenon run` starts four processes, each of which is one rank of a
// step that was compiled for four; torchrun and srun do so, too. They do the
// same things in the same order: whatever could differ between them, such as
// the time, the first decides for all. A rank that dies, stops or gives up ends all others, with a message.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_PROCESSES_H
#define TENON_RUNTIME_PROCESSES_H

#include "tenon/Runtime/Executor.h"

#include <functional>
#include <optional>

namespace tenon::runtime {

class Communicator;

/// How processes find each other that no MPI launcher has started: what
/// torchrun or SLURM tells each of them.
struct Meeting {
  int64_t rank = 0, ranks = 1;
  /// Its number among those of this machine; without it, by their ranks.
  std::optional<int64_t> rankHere;
  /// Where rank 0 is, by name or number, and the first of the ports that it
  /// may take.
  std::string address;
  uint16_t port = 0;
  /// Which run, in words that all of its ranks have.
  std::string run;
  /// So long the ranks wait for each other.
  double seconds = 300;
  /// So long one waits for an answer of what may be someone else's program, and
  /// for the heartbeat to say so of a rank that closed its connection.
  double patience = 5;
};

struct ProcessOptions {
  /// Seconds of silence after which a rank counts as stopped, from 0.1 on.
  double heartbeat = 10;
  /// Where the ranks meet; without it MPI knows.
  std::optional<Meeting> meeting;
  /// The file of libtenon-mpi.so; empty for that beside this program.
  std::string mpiLibrary;
  /// The signal that asked this process to end, 0 for none. Called by another
  /// thread, a few times a second.
  std::function<int()> signal;
  /// Whether a process that was asked to end waits for its ranks to do so
  /// together; otherwise it ends at once.
  bool endsTogether = false;
  /// Says which rank is lost, and what this one did then. By another thread,
  /// and at once: a launcher may leave no time for more.
  std::function<void(const std::string &message)> note;
  /// Ends this process, with a message, where its main thread cannot: after a
  /// signal, or while MPI ends. By another thread.
  std::function<void(const std::string &message)> end;
};

class Processes {
public:
  /// Meets all processes that a launcher has started. Null with `error` filled
  /// in if there is no MPI or a rank does not come.
  static std::shared_ptr<Processes> join(const ProcessOptions &options,
                                         Error &error);
  ~Processes();
  Processes(const Processes &) = delete;
  Processes &operator=(const Processes &) = delete;

  int64_t rank() const;
  int64_t ranks() const;
  /// How many of them share this machine.
  int64_t ranksHere() const;
  /// The number of this one among these.
  int64_t rankHere() const;
  bool isFirst() const { return rank() == 0; }

  // All ranks call each of the following in the same order. `what` is awaited:
  // a message says so. False with `error` filled in if a rank is lost.

  /// Gives `bytes` those that the first rank has, as many on all.
  bool share(std::span<std::byte> bytes, std::string_view what, Error &error);
  /// Gives `value` the value that the first rank has.
  bool decide(int64_t &value, std::string_view what, Error &error);
  /// Gives `areAll` whether all say so.
  bool ask(bool isSo, bool &areAll, std::string_view what, Error &error);
  /// What a rank says of a thing that must be the same on all.
  struct Statement {
    std::string thing, text;
  };
  /// Also false if a rank says something else than the first; `error` then
  /// names the rank, the thing and both texts.
  bool agree(const std::vector<Statement> &statements, Error &error);

  /// Whether any process was asked to end.
  bool isAskedToEnd() const;
  /// The step that runs, for messages; 0 for none.
  void setStep(int64_t step);

  /// Ends this rank: together with all others, or alone with an error. False
  /// with `error` filled in if the others do not come to their end.
  bool leave(bool givesUp, Error &error);

  /// How the ranks send each other bytes, for the runtime itself.
  Communicator &communicator();
  /// Bytes that this rank has received from others.
  uint64_t receivedBytes() const;
  /// How often MPI has combined elements for it.
  uint64_t reductionsByMpi() const;

private:
  struct Implementation;
  explicit Processes(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_PROCESSES_H
