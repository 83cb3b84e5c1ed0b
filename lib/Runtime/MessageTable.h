//===- MessageTable.h - What carries messages between processes -----------===//
//
// Private to this folder. What offers it is libtenon-mpi.so, or the sockets of
// SocketMessages.h. One MPI differs from another in its header, its handles and
// the name of its library. So nothing but libtenon-mpi.so is compiled against
// MPI: it is opened when an MPI launcher has started several processes, and
// everything else works where no MPI is installed. It has one function,
// tenonMpi(), which gives this table. One thread at a time calls it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_MESSAGETABLE_H
#define TENON_LIB_RUNTIME_MESSAGETABLE_H

#include <cstddef>
#include <cstdint>

namespace tenon::runtime {

/// To another rank, or from it.
struct RankMessage {
  int64_t rank = 0;
  void *bytes = nullptr; // only read of what is sent
  uint64_t size = 0;
};

enum class RankElement : uint8_t {
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64
};
enum class RankOperation : uint8_t { sum, maximum, minimum };

/// What the ranks of a group combine. All have as many elements; the result has
/// all of them, or with `scatters` the part of this rank.
struct RankReduction {
  int division = 0; // a number that divide() gave
  bool scatters = false;
  RankElement type = RankElement::f32;
  RankOperation operation = RankOperation::sum;
  const void *from = nullptr;
  void *to = nullptr;
  uint64_t count = 0; // elements of the result
};

/// Where the ranks of one run send each other messages.
struct MessageGroup;

struct MessageTable {
  uint64_t version; // of this table

  /// Starts MPI if nobody has, and makes a communicator of our own of all
  /// processes that were started together. Null, with the cause in whyNot(), if
  /// that fails.
  MessageGroup *(*join)();
  int64_t (*rank)(const MessageGroup *group);
  int64_t (*ranks)(const MessageGroup *group);
  /// How many of the ranks share this machine's memory.
  int64_t (*ranksHere)(const MessageGroup *group);
  /// The number of this one among these.
  int64_t (*rankHere)(const MessageGroup *group);
  /// Whether others than the thread that started MPI may call what follows.
  bool (*isForAnyThread)(const MessageGroup *group);

  /// Begins to send and to receive, in pieces of at most `most` bytes; memory
  /// is left alone until test() says that all is done. False as for join().
  bool (*begin)(MessageGroup *group, const RankMessage *outgoing,
                size_t outgoingCount, const RankMessage *incoming,
                size_t incomingCount, uint64_t most);
  /// Makes groups of `size` ranks each, of the list of all of them, and gives
  /// the division a number; -1 as for join(). All ranks call it together. Null,
  /// as beginReduction, where nothing but messages is carried.
  int (*divide)(MessageGroup *group, const int64_t *ranks, size_t count,
                size_t size);
  /// Begins to combine elements in an order of MPI's own. False as for join().
  bool (*beginReduction)(MessageGroup *group, const RankReduction &reduction,
                         uint64_t most);
  /// 1 if all that was begun is done, 0 if not yet, -1 as for join(), also if
  /// another rank sent something else than was expected.
  int (*test)(MessageGroup *group);

  /// Ends MPI if join() has started it. All ranks call it, after all messages.
  void (*leave)(MessageGroup *group);

  /// What went wrong last.
  const char *(*whyNot)();
};

inline constexpr uint64_t messageTableVersion = 3;

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_MESSAGETABLE_H
