//===- SocketMessages.h - Messages of ranks that no MPI carries -----------===//
//
// Private to this folder. torchrun, or SLURM without an MPI, tells each process
// its number and where the first one is. The ranks meet there and connect each
// to each; messages then go over TCP, as the table of MessageTable.h has it.
// GPUs need them for little, since NCCL moves their tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_SOCKETMESSAGES_H
#define TENON_LIB_RUNTIME_SOCKETMESSAGES_H

#include "MessageTable.h"

#include "tenon/Runtime/Processes.h"

#include <string>

namespace tenon::runtime {

/// Its join() is not called: meetBySockets() stands for it.
extern const MessageTable socketMessages;

/// Meets the other ranks. Null with a message in `error` if one does not come.
MessageGroup *meetBySockets(const Meeting &meeting, std::string &error);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_SOCKETMESSAGES_H
