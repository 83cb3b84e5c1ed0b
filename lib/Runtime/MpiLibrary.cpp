//===- MpiLibrary.cpp - All that is compiled against MPI ------------------===//
//
// See MessageTable.h. MPI's counts are ints, so messages are cut: pieces
// between two ranks arrive in the order in which they were sent.
//
//===----------------------------------------------------------------------===//

#include "MessageTable.h"

// The interface of C alone.
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

using namespace tenon::runtime;

struct tenon::runtime::MessageGroup {
  MPI_Comm communicator = MPI_COMM_NULL;
  bool hasStarted = false; // MPI, so it ends it
  bool isForAnyThread = false;
  int rank = 0, ranks = 1, ranksHere = 1, rankHere = 0;
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;
  std::vector<int> expected; // bytes per request, -1 of others than messages
  std::vector<MPI_Comm> divisions; // of this rank, its group in each
};

namespace {

std::string reason;

/// Whether a call of MPI has succeeded.
bool isDone(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return true;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  reason = std::string(what) + ": " + text;
  return false;
}

bool start(MessageGroup &group) {
  int isOver = 0, isStarted = 0, level = 0;
  if (!isDone(MPI_Finalized(&isOver), "MPI_Finalized") ||
      !isDone(MPI_Initialized(&isStarted), "MPI_Initialized"))
    return false;
  if (isOver) {
    reason = "MPI has ended in this process, and cannot start again";
    return false;
  }
  if (!isStarted) {
    if (!isDone(
            MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level),
            "MPI_Init_thread"))
      return false;
    group.hasStarted = true;
  }
  if (!isDone(MPI_Query_thread(&level), "MPI_Query_thread"))
    return false;
  group.isForAnyThread = level >= MPI_THREAD_SERIALIZED;
  MPI_Comm here = MPI_COMM_NULL;
  // Errors of messages are ours to report from here on.
  if (!isDone(MPI_Comm_dup(MPI_COMM_WORLD, &group.communicator),
              "MPI_Comm_dup") ||
      !isDone(MPI_Comm_set_errhandler(group.communicator, MPI_ERRORS_RETURN),
              "MPI_Comm_set_errhandler") ||
      !isDone(MPI_Comm_rank(group.communicator, &group.rank),
              "MPI_Comm_rank") ||
      !isDone(MPI_Comm_size(group.communicator, &group.ranks),
              "MPI_Comm_size") ||
      !isDone(MPI_Comm_split_type(group.communicator, MPI_COMM_TYPE_SHARED, 0,
                                  MPI_INFO_NULL, &here),
              "MPI_Comm_split_type") ||
      !isDone(MPI_Comm_size(here, &group.ranksHere), "MPI_Comm_size") ||
      !isDone(MPI_Comm_rank(here, &group.rankHere), "MPI_Comm_rank"))
    return false;
  return isDone(MPI_Comm_free(&here), "MPI_Comm_free");
}

MessageGroup *join() {
  auto *group = new MessageGroup;
  if (start(*group))
    return group;
  delete group;
  return nullptr;
}

int64_t rankOf(const MessageGroup *group) { return group->rank; }
int64_t ranksOf(const MessageGroup *group) { return group->ranks; }
int64_t ranksHereOf(const MessageGroup *group) { return group->ranksHere; }
bool isForAnyThread(const MessageGroup *group) { return group->isForAnyThread; }
int64_t rankHereOf(const MessageGroup *group) { return group->rankHere; }

constexpr int tag = 0;

/// Calls `piece(bytes, count)`, of which the call must succeed, for the pieces
/// of a message.
template <typename Piece>
bool forPieces(const RankMessage &message, uint64_t most, Piece piece) {
  for (uint64_t from = 0; from < message.size; from += most)
    if (!piece(static_cast<char *>(message.bytes) + from,
               int(std::min(most, message.size - from))))
      return false;
  return true;
}

bool begin(MessageGroup *group, const RankMessage *outgoing,
           size_t outgoingCount, const RankMessage *incoming,
           size_t incomingCount, uint64_t most) {
  group->requests.clear();
  group->expected.clear();
  most = std::min<uint64_t>(most, INT_MAX);
  auto request = [&](int expected) {
    group->expected.push_back(expected);
    return &group->requests.emplace_back(MPI_REQUEST_NULL);
  };
  for (size_t i = 0; i < incomingCount; ++i)
    if (!forPieces(incoming[i], most, [&](void *bytes, int count) {
          return isDone(MPI_Irecv(bytes, count, MPI_BYTE, int(incoming[i].rank),
                                  tag, group->communicator, request(count)),
                        "MPI_Irecv");
        }))
      return false;
  for (size_t i = 0; i < outgoingCount; ++i)
    if (!forPieces(outgoing[i], most, [&](const void *bytes, int count) {
          return isDone(MPI_Isend(bytes, count, MPI_BYTE, int(outgoing[i].rank),
                                  tag, group->communicator, request(-1)),
                        "MPI_Isend");
        }))
      return false;
  group->statuses.resize(group->requests.size());
  return true;
}

int divide(MessageGroup *group, const int64_t *ranks, size_t count,
           size_t size) {
  for (size_t i = 0; i < count; ++i) {
    if (ranks[i] != group->rank)
      continue;
    MPI_Comm made = MPI_COMM_NULL;
    if (!isDone(MPI_Comm_split(group->communicator, int(i / size),
                               int(i % size), &made),
                "MPI_Comm_split") ||
        !isDone(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN),
                "MPI_Comm_set_errhandler"))
      return -1;
    group->divisions.push_back(made);
    return int(group->divisions.size()) - 1;
  }
  reason = "this rank is in no group";
  return -1;
}

MPI_Datatype typeOf(RankElement type) {
  switch (type) {
  case RankElement::i8:
    return MPI_INT8_T;
  case RankElement::i16:
    return MPI_INT16_T;
  case RankElement::i32:
    return MPI_INT32_T;
  case RankElement::i64:
    return MPI_INT64_T;
  case RankElement::u8:
    return MPI_UINT8_T;
  case RankElement::u16:
    return MPI_UINT16_T;
  case RankElement::u32:
    return MPI_UINT32_T;
  case RankElement::u64:
    return MPI_UINT64_T;
  case RankElement::f32:
    return MPI_FLOAT;
  case RankElement::f64:
    return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op operationOf(RankOperation operation) {
  switch (operation) {
  case RankOperation::sum:
    return MPI_SUM;
  case RankOperation::maximum:
    return MPI_MAX;
  case RankOperation::minimum:
    return MPI_MIN;
  }
  return MPI_OP_NULL;
}

bool beginReduction(MessageGroup *group, const RankReduction &reduction,
                    uint64_t most) {
  group->requests.clear();
  group->expected.clear();
  const MPI_Comm within = group->divisions[size_t(reduction.division)];
  const MPI_Datatype type = typeOf(reduction.type);
  const MPI_Op operation = operationOf(reduction.operation);
  int width = 0;
  if (!isDone(MPI_Type_size(type, &width), "MPI_Type_size"))
    return false;
  most = std::clamp<uint64_t>(most / uint64_t(width), 1, INT_MAX);
  auto request = [&] {
    group->expected.push_back(-1);
    return &group->requests.emplace_back(MPI_REQUEST_NULL);
  };
  const auto *from = static_cast<const char *>(reduction.from);
  auto *to = static_cast<char *>(reduction.to);
  if (reduction.scatters) {
    if (reduction.count > INT_MAX) {
      reason = "MPI scatters at most 2^31 - 1 elements to a rank";
      return false;
    }
    if (!isDone(MPI_Ireduce_scatter_block(from, to, int(reduction.count), type,
                                          operation, within, request()),
                "MPI_Ireduce_scatter_block"))
      return false;
  }
  for (uint64_t at = 0; !reduction.scatters && at < reduction.count; at += most)
    if (!isDone(MPI_Iallreduce(from + at * uint64_t(width),
                               to + at * uint64_t(width),
                               int(std::min(most, reduction.count - at)), type,
                               operation, within, request()),
                "MPI_Iallreduce"))
      return false;
  group->statuses.resize(group->requests.size());
  return true;
}

int test(MessageGroup *group) {
  int isComplete = 0;
  int code = MPI_Testall(int(group->requests.size()), group->requests.data(),
                         &isComplete, group->statuses.data());
  if (code == MPI_ERR_IN_STATUS)
    for (const MPI_Status &status : group->statuses)
      if (status.MPI_ERROR != MPI_SUCCESS &&
          status.MPI_ERROR != MPI_ERR_PENDING)
        code = status.MPI_ERROR;
  if (!isDone(code, "MPI_Testall"))
    return -1;
  if (!isComplete)
    return 0;
  for (size_t i = 0; i < group->expected.size(); ++i) {
    int count = 0;
    if (group->expected[i] < 0)
      continue;
    if (!isDone(MPI_Get_count(&group->statuses[i], MPI_BYTE, &count),
                "MPI_Get_count"))
      return -1;
    if (count == group->expected[i])
      continue;
    reason = "rank " + std::to_string(group->statuses[i].MPI_SOURCE) +
             " sent " + std::to_string(count) + " bytes, expected " +
             std::to_string(group->expected[i]);
    return -1;
  }
  return 1;
}

void leave(MessageGroup *group) {
  int isOver = 0;
  if (MPI_Finalized(&isOver) == MPI_SUCCESS && !isOver) {
    for (MPI_Comm &division : group->divisions)
      MPI_Comm_free(&division);
    MPI_Comm_free(&group->communicator);
    if (group->hasStarted)
      MPI_Finalize();
  }
  delete group;
}

const char *whyNot() { return reason.c_str(); }

} // namespace

extern "C" __attribute__((visibility("default"))) const MessageTable *
tenonMpi() {
  static const MessageTable table = {messageTableVersion,
                                     join,
                                     rankOf,
                                     ranksOf,
                                     ranksHereOf,
                                     rankHereOf,
                                     isForAnyThread,
                                     begin,
                                     divide,
                                     beginReduction,
                                     test,
                                     leave,
                                     whyNot};
  return &table;
}
