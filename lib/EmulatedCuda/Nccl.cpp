//===- Nccl.cpp - An emulated NCCL ----------------------------------------===//
//
// The functions of NCCL that Tenon calls, over the emulated driver: each rank
// is a process, and bytes move through a socket between any two of them. It is
// stricter than the library, which hangs or moves wrong bytes where ranks do
// not do the same. In front of the bytes goes what they are:
//
//   kind      of an all-gather, an all-reduce, a reduce-scatter, or of a send
//   type, count
//   operation by which elements are combined
//   captured  which of the calls between the two that were captured it is, or
//             that it was not captured
//
// Whoever receives compares that with what it expects. A rank that has waited a
// while says for what; two ranks that wait for each other so will never meet.
//
// Each call writes a word of its communicator's, so that two of them which may
// run at once, of two streams or of nodes of a graph without a path between
// them, are a race.
//
// Elements are combined from the last rank to the first, and those of 16 bits
// rounded each time: the library has an order of its own, too.
//
// As with the library, a rank whose process has died is waited for until the
// communicator is aborted, and work that was aborted ends as if it were done.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Nccl.h"
#include "tenon/EmulatedCuda/EmulatedCuda.h"
#include "tenon/Support/Bfloat16.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <poll.h>
#include <random>
#include <set>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int versionNumber = 22809;
constexpr auto longestMeeting = std::chrono::seconds(60);
/// After so long a rank that waits says for what.
constexpr auto shortWait = std::chrono::milliseconds(300);

thread_local std::string lastError;

ncclResult_t refuse(ncclResult_t result, const std::string &why) {
  lastError = "emulated NCCL: " + why;
  std::fprintf(stderr, "%s\n", lastError.c_str());
  return result;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

enum class Kind : uint32_t {
  gather,
  reduce,
  scatter, // what was reduced
  message, // and all before it carry bytes
  waits,
  failed,
  left
};

constexpr int64_t notCaptured = -1;

struct Header {
  Kind kind = Kind::message;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t operation = ncclSum;
  uint64_t count = 0;
  int64_t captured = notCaptured;
  uint64_t received = 0; // of `waits`: messages so far
  uint64_t exchange = 0; // which one it is between the two processes
};

const char *nameOf(ncclDataType_t type) {
  constexpr const char *names[] = {"int8",    "uint8",   "int32",   "uint32",
                                   "int64",   "uint64",  "float16", "float32",
                                   "float64", "bfloat16"};
  return type >= 0 && type <= ncclBfloat16 ? names[type] : nullptr;
}

uint64_t widthOf(ncclDataType_t type) {
  constexpr uint64_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return widths[type];
}

/// "a send of 4 float32, captured call 2".
std::string textOf(const Header &header) {
  constexpr const char *operations[] = {"sum", "product", "maximum", "minimum"};
  std::string what = "a send";
  if (header.kind == Kind::gather)
    what = "an all-gather";
  if (header.kind == Kind::reduce || header.kind == Kind::scatter)
    what = std::string(header.kind == Kind::reduce ? "an all-reduce"
                                                   : "a reduce-scatter") +
           " (" + operations[header.operation] + ")";
  return what + " of " + std::to_string(header.count) + " " +
         nameOf(header.type) +
         (header.captured == notCaptured
              ? ", which is not captured"
              : ", captured call " + std::to_string(header.captured));
}

/// Stands for memory of the call's own, which no access is of.
constexpr size_t ownMemory = SIZE_MAX;

/// A message to another rank, or from it.
struct Transfer {
  int peer;
  bool isSend;
  Header header;
  size_t access; // whose bytes
  uint64_t offset, bytes;
};

/// The connection to another rank.
struct Link {
  int socket = -1;
  pid_t process = 0;
  bool isGone = false;             // with all that it sent
  bool isDeaf = false;             // takes nothing any more
  uint64_t sent = 0, received = 0; // whole messages
  int64_t capturedSends = 0, capturedReceives = 0;
  bool saidWhy = false;
  struct Piece {
    std::vector<uint8_t> header;
    const uint8_t *bytes;
    uint64_t size, done;
    bool isMessage;
  };
  std::deque<Piece> outgoing;
  std::deque<std::pair<const Transfer *, uint8_t *>> expected;
  Header begun;
  uint64_t headerBytes = 0, bodyBytes = 0; // of the message that arrives

  void send(const Header &header, const uint8_t *bytes = nullptr,
            uint64_t size = 0) {
    Piece piece{std::vector<uint8_t>(sizeof(Header)), bytes, size, 0,
                header.kind <= Kind::message};
    std::memcpy(piece.header.data(), &header, sizeof(header));
    outgoing.push_back(std::move(piece));
  }
  void flush();
};

/// Sends what the connection takes now.
void Link::flush() {
  while (!outgoing.empty() && !isDeaf) {
    Piece &piece = outgoing.front();
    const bool inHeader = piece.done < sizeof(Header);
    const uint8_t *from = inHeader
                              ? piece.header.data() + piece.done
                              : piece.bytes + (piece.done - sizeof(Header));
    const uint64_t whole = sizeof(Header) + piece.size;
    const ssize_t count =
        ::send(socket, from, (inHeader ? sizeof(Header) : whole) - piece.done,
               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      isDeaf = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
      return;
    }
    piece.done += uint64_t(count);
    if (piece.done < whole)
      continue;
    sent += piece.isMessage;
    outgoing.pop_front();
  }
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// What a rank sends when it meets another.
struct Greeting {
  int32_t rank, count, device, process;
};

class Ranks {
public:
  Ranks(int rank, int count) : rank(rank), count(count), links(count) {}
  ~Ranks();

  /// Nothing if all ranks have met.
  std::string meet(const ncclUniqueId &id);
  /// Carries transfers out. Null if that worked or was aborted.
  const char *run(const std::vector<Transfer> &transfers, void *const *bytes);
  /// Tells the others that this one does not come any more.
  void leave();

  const int rank, count;
  /// What all of its calls write, as long as the process lives: a graph may be
  /// launched when the communicator is gone.
  void *word = nullptr;
  std::vector<Link> links; // by rank; nothing for this one
  std::atomic<bool> isAborted = false;
  std::atomic<ncclResult_t> state = ncclSuccess;

private:
  std::string meetOne(Link &link, const Greeting &own, int peer);
  std::string copyOwn(const std::vector<Transfer> &transfers,
                      void *const *bytes);
  std::string exchange(const std::vector<Transfer> &transfers,
                       void *const *bytes);
  std::string hear(int peer);
  std::string take(int peer);
  std::string whyEnded(int peer, Kind kind) const;
  std::string lastWord(int peer);
  std::string whyNever();
  bool isDone() const;
  std::string me() const { return "rank " + std::to_string(rank); }

  std::string fault;
};

/// All communicators of the process, since ranks may wait for each other in
/// different ones.
std::mutex accessToAll;
std::set<Ranks *> all;
/// How often this process has exchanged something with another.
std::map<pid_t, uint64_t> exchanges;

sockaddr_un addressOf(const ncclUniqueId &id, int rank, socklen_t &size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A name that begins with a zero is no file, and goes with its socket.
  const std::string name = std::string(id.internal, strnlen(id.internal, 64)) +
                           "-" + std::to_string(rank);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::string Ranks::meetOne(Link &link, const Greeting &own, int peer) {
  Greeting other{};
  if (::send(link.socket, &own, sizeof(own), MSG_NOSIGNAL) != sizeof(own) ||
      ::recv(link.socket, &other, sizeof(other), MSG_WAITALL) != sizeof(other))
    return "rank " + std::to_string(peer) + " ended while ranks met";
  link.process = other.process;
  if (other.count != count)
    return "rank " + std::to_string(other.rank) + " meets " +
           std::to_string(other.count) + " ranks, and " + me() + " meets " +
           std::to_string(count);
  if (other.device == own.device && other.process != own.process)
    return me() + " and rank " + std::to_string(other.rank) +
           " have the same GPU, number " + std::to_string(own.device);
  return "";
}

std::string Ranks::meet(const ncclUniqueId &id) {
  const Greeting own{rank, count, tenonEmulatedCudaDevice(), getpid()};
  const auto until = Clock::now() + longestMeeting;
  socklen_t size = 0;
  sockaddr_un address = addressOf(id, rank, size);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct Close {
    int socket;
    ~Close() { close(socket); }
  } closing{listener};
  if (bind(listener, reinterpret_cast<sockaddr *>(&address), size) != 0)
    return me() + " is there twice";
  if (listen(listener, count) != 0)
    return "the system gives no socket";
  // Whoever has the smaller number is called.
  for (int peer = 0; peer < rank; ++peer) {
    Link &link = links[size_t(peer)];
    address = addressOf(id, peer, size);
    do {
      if (link.socket >= 0)
        close(link.socket);
      link.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(link.socket, reinterpret_cast<sockaddr *>(&address), size) ==
          0)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } while (Clock::now() < until);
    if (std::string why = meetOne(link, own, peer); !why.empty())
      return why;
  }
  for (int others = rank + 1; others < count; ++others) {
    pollfd waiting{listener, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - Clock::now());
    if (poll(&waiting, 1, std::max(0, int(left.count()))) != 1)
      return std::to_string(count - others) + " ranks did not come";
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Greeting other{};
    if (recv(socket, &other, sizeof(other), MSG_WAITALL | MSG_PEEK) !=
            sizeof(other) ||
        other.rank <= rank || other.rank >= count ||
        links[size_t(other.rank)].socket >= 0)
      return "a rank that does not belong to them came";
    links[size_t(other.rank)].socket = socket;
    if (std::string why = meetOne(links[size_t(other.rank)], own, other.rank);
        !why.empty())
      return why;
  }
  std::lock_guard lock(accessToAll);
  all.insert(this);
  return "";
}

Ranks::~Ranks() {
  {
    std::lock_guard lock(accessToAll);
    all.erase(this);
  }
  for (Link &link : links)
    if (link.socket >= 0)
      close(link.socket);
}

void Ranks::leave() {
  for (Link &link : links)
    if (link.socket >= 0) {
      link.send({.kind = Kind::left});
      link.flush();
    }
}

/// What a rank sends itself it receives in the same order.
std::string Ranks::copyOwn(const std::vector<Transfer> &transfers,
                           void *const *bytes) {
  std::deque<const Transfer *> sends, receives;
  for (const Transfer &one : transfers)
    if (one.peer == rank)
      (one.isSend ? sends : receives).push_back(&one);
  if (sends.size() != receives.size())
    return me() + " has " + std::to_string(sends.size()) +
           " sends to itself and " + std::to_string(receives.size()) +
           " receives";
  for (size_t i = 0; i < sends.size(); ++i) {
    if (sends[i]->bytes != receives[i]->bytes)
      return me() + " receives other bytes of itself than it sends";
    std::memmove(static_cast<uint8_t *>(bytes[receives[i]->access]) +
                     receives[i]->offset,
                 static_cast<uint8_t *>(bytes[sends[i]->access]) +
                     sends[i]->offset,
                 sends[i]->bytes);
  }
  return "";
}

bool Ranks::isDone() const {
  return std::ranges::all_of(links, [](const Link &link) {
    return link.outgoing.empty() && link.expected.empty();
  });
}

std::string Ranks::whyEnded(int peer, Kind kind) const {
  if (kind != Kind::failed && kind != Kind::left)
    return "";
  return "rank " + std::to_string(peer) +
         (kind == Kind::failed ? " has failed" : " has left the communicator") +
         ", and " + me() + " waits for it";
}

/// Why a rank that takes nothing any more ended, if it said that. What it sent
/// before is read over: the exchange in which this rank is cannot succeed.
std::string Ranks::lastWord(int peer) {
  const int socket = links[size_t(peer)].socket;
  Header header;
  while (recv(socket, &header, sizeof(header), MSG_DONTWAIT) ==
         sizeof(header)) {
    if (header.kind > Kind::waits)
      return whyEnded(peer, header.kind);
    if (header.kind == Kind::waits)
      continue;
    std::vector<uint8_t> over(header.count * widthOf(header.type));
    for (size_t done = 0; done < over.size();) {
      const ssize_t count =
          recv(socket, over.data() + done, over.size() - done, MSG_DONTWAIT);
      if (count <= 0)
        return "";
      done += size_t(count);
    }
  }
  return "";
}

/// Looks at a header that has arrived where one is expected.
std::string Ranks::take(int peer) {
  Link &link = links[size_t(peer)];
  const Header &header = link.begun;
  const std::string other = "rank " + std::to_string(peer);
  if (std::string ended = whyEnded(peer, header.kind); !ended.empty())
    return ended;
  const Header &expected = link.expected.front().first->header;
  if (header.kind == Kind::waits) {
    link.headerBytes = 0;
    if (header.received == link.sent && link.outgoing.empty())
      return me() + " waits for " + textOf(expected) + " by " + other +
             ", which waits for " + std::to_string(header.count) + " " +
             nameOf(header.type) + " by " + me() + ": they never meet";
    return "";
  }
  if (header.kind == expected.kind && header.type == expected.type &&
      header.operation == expected.operation &&
      header.count == expected.count && header.captured == expected.captured)
    return "";
  return other + " comes with " + textOf(header) + ", and " + me() +
         " expects " + textOf(expected);
}

/// Reads what has come from a rank, as far as it is expected.
std::string Ranks::hear(int peer) {
  Link &link = links[size_t(peer)];
  while (!link.expected.empty() && !link.isGone) {
    auto [transfer, into] = link.expected.front();
    const bool inHeader = link.headerBytes < sizeof(Header);
    uint8_t *to =
        inHeader ? reinterpret_cast<uint8_t *>(&link.begun) + link.headerBytes
                 : into + link.bodyBytes;
    const uint64_t size = inHeader ? sizeof(Header) - link.headerBytes
                                   : transfer->bytes - link.bodyBytes;
    if (size > 0) {
      const ssize_t count = recv(link.socket, to, size, MSG_DONTWAIT);
      if (count < 0 &&
          (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return "";
      if (count <= 0) {
        link.isGone = true;
        return "";
      }
      (inHeader ? link.headerBytes : link.bodyBytes) += uint64_t(count);
      if (inHeader && link.headerBytes == sizeof(Header))
        if (std::string why = take(peer); !why.empty())
          return why;
    }
    if (link.headerBytes == sizeof(Header) &&
        link.bodyBytes == transfer->bytes) {
      ++link.received;
      link.expected.pop_front();
      link.headerBytes = link.bodyBytes = 0;
    }
  }
  if (link.expected.empty() && link.isDeaf && !link.outgoing.empty())
    return lastWord(peer);
  return "";
}

/// Empty unless a rank that this one waits for came to another communicator
/// instead. One that is further has a later exchange there.
std::string Ranks::whyNever() {
  std::set<pid_t> awaited;
  for (Link &link : links)
    if (!link.expected.empty())
      awaited.insert(link.process);
  std::lock_guard lock(accessToAll);
  for (Ranks *other : all)
    for (int peer = 0; other != this && peer < other->count; ++peer) {
      Link &link = other->links[size_t(peer)];
      Header header;
      if (awaited.count(link.process) && link.headerBytes == 0 &&
          recv(link.socket, &header, sizeof(header), MSG_PEEK | MSG_DONTWAIT) ==
              sizeof(header) &&
          header.kind <= Kind::message &&
          header.exchange == exchanges[link.process])
        return me() + " waits in one communicator for a rank that came to "
                      "another: they never meet";
    }
  return "";
}

std::string Ranks::exchange(const std::vector<Transfer> &transfers,
                            void *const *bytes) {
  std::map<pid_t, uint64_t> numbers;
  for (const Transfer &one : transfers)
    if (one.peer != rank)
      numbers[links[size_t(one.peer)].process];
  {
    std::lock_guard lock(accessToAll);
    for (auto &[process, number] : numbers)
      number = ++exchanges[process];
  }
  for (const Transfer &one : transfers) {
    if (one.peer == rank)
      continue;
    Link &link = links[size_t(one.peer)];
    auto *at = static_cast<uint8_t *>(bytes[one.access]) + one.offset;
    link.saidWhy = false;
    Header header = one.header;
    header.exchange = numbers[link.process];
    if (one.isSend)
      link.send(header, at, one.bytes);
    else
      link.expected.emplace_back(&one, at);
  }
  const auto began = Clock::now();
  std::vector<pollfd> waiting;
  while (!isDone() && !isAborted) {
    const bool isLong = Clock::now() - began > shortWait;
    waiting.clear();
    for (int peer = 0; peer < count; ++peer) {
      Link &link = links[size_t(peer)];
      if (link.socket < 0)
        continue;
      link.flush();
      if (std::string why = hear(peer); !why.empty())
        return why;
      if (isLong && !link.expected.empty() && link.outgoing.empty() &&
          !link.saidWhy) {
        link.saidWhy = true;
        Header what = link.expected.front().first->header;
        what.kind = Kind::waits;
        what.received = link.received;
        link.send(what);
        link.flush();
      }
      const int events = (link.outgoing.empty() || link.isDeaf ? 0 : POLLOUT) |
                         (link.expected.empty() ? 0 : POLLIN);
      if (events && !link.isGone)
        waiting.push_back({link.socket, short(events), 0});
    }
    if (isDone())
      break;
    if (isLong)
      if (std::string why = whyNever(); !why.empty())
        return why;
    (void)poll(waiting.data(), waiting.size(), /*milliseconds=*/10);
  }
  return "";
}

const char *Ranks::run(const std::vector<Transfer> &transfers,
                       void *const *bytes) {
  if (isAborted)
    return nullptr;
  fault = copyOwn(transfers, bytes);
  if (fault.empty())
    fault = exchange(transfers, bytes);
  if (fault.empty())
    return nullptr;
  fault = "NCCL: " + fault;
  state = ncclRemoteError;
  for (Link &link : links) {
    link.expected.clear();
    if (link.socket < 0)
      continue;
    link.send({.kind = Kind::failed});
    link.flush();
  }
  return fault.c_str();
}

} // namespace

struct ncclComm {
  std::shared_ptr<Ranks> ranks;
};

namespace {

//===----------------------------------------------------------------------===//
// Groups of calls
//===----------------------------------------------------------------------===//

/// What other ranks sent, to be combined.
struct Reduction {
  ncclDataType_t type;
  ncclRedOp_t operation;
  uint64_t from; // in the call's own memory, rank by rank
  size_t to;     // whose access
  uint64_t count, ranks;
};

/// What one thread has called since the group began.
struct Started {
  std::shared_ptr<Ranks> ranks;
  CUstream stream;
  std::vector<TenonEmulatedAccess> accesses;
  std::vector<Transfer> transfers;
  std::string name;
  std::vector<Reduction> reductions = {};
  uint64_t ownBytes = 0;
};
thread_local std::vector<Started> group;
thread_local int depth = 0;

struct Call {
  std::shared_ptr<Ranks> ranks;
  std::vector<Transfer> transfers;
  std::vector<Reduction> reductions;
  size_t accesses;
  std::vector<uint8_t> own;

  const char *run(void *const *bytes);
};

/// Elements as they are stored, and as they are combined.
struct Half {
  uint16_t bits;
  operator float() const { return float(std::bit_cast<_Float16>(bits)); }
  Half(float value) : bits(std::bit_cast<uint16_t>(_Float16(value))) {}
};
struct Brain {
  uint16_t bits;
  operator float() const { return tenon::widenBf16(bits); }
  Brain(float value) : bits(tenon::roundToBf16(value)) {}
};

template <typename T, typename Combined = T>
void combine(const Reduction &reduction, const uint8_t *from, uint8_t *to) {
  auto at = [&](uint64_t rank, uint64_t i) {
    T value(Combined(0));
    std::memcpy(&value, from + (rank * reduction.count + i) * sizeof(T),
                sizeof(T));
    return value;
  };
  for (uint64_t i = 0; i < reduction.count; ++i) {
    T value = at(reduction.ranks - 1, i);
    for (uint64_t rank = reduction.ranks - 1; rank-- > 0;) {
      const Combined a(value), b(at(rank, i));
      value = T(reduction.operation == ncclSum   ? Combined(a + b)
                : reduction.operation == ncclMax ? std::max(a, b)
                                                 : std::min(a, b));
    }
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

void combine(const Reduction &reduction, const uint8_t *from, uint8_t *to) {
  switch (reduction.type) {
  case ncclInt8:
    return combine<int8_t, int>(reduction, from, to);
  case ncclUint8:
    return combine<uint8_t, int>(reduction, from, to);
  case ncclInt32:
    return combine<int32_t, int64_t>(reduction, from, to);
  case ncclUint32:
    return combine<uint32_t>(reduction, from, to);
  case ncclInt64:
    return combine<int64_t>(reduction, from, to);
  case ncclUint64:
    return combine<uint64_t>(reduction, from, to);
  case ncclFloat16:
    return combine<Half, float>(reduction, from, to);
  case ncclBfloat16:
    return combine<Brain, float>(reduction, from, to);
  case ncclFloat32:
    return combine<float>(reduction, from, to);
  case ncclFloat64:
    return combine<double>(reduction, from, to);
  }
}

const char *Call::run(void *const *bytes) {
  std::vector<void *> places(bytes, bytes + accesses);
  places.push_back(own.data());
  if (const char *fault = ranks->run(transfers, places.data()))
    return fault;
  for (const Reduction &reduction : reductions)
    combine(reduction, own.data() + reduction.from,
            static_cast<uint8_t *>(bytes[reduction.to]));
  return nullptr;
}

ncclResult_t enqueue(Started &&started) {
  const std::string name = "NCCL's " + started.name;
  std::vector<TenonEmulatedAccess> accesses = std::move(started.accesses);
  accesses.push_back(
      {reinterpret_cast<CUdeviceptr>(started.ranks->word), 4, true});
  for (Transfer &one : started.transfers)
    if (one.access == ownMemory)
      one.access = accesses.size(); // behind all others
  auto *call = new Call{std::move(started.ranks), std::move(started.transfers),
                        std::move(started.reductions), accesses.size(),
                        std::vector<uint8_t>(started.ownBytes)};
  const CUresult result = tenonEmulatedCudaEnqueue(
      started.stream, name.c_str(), accesses.data(), accesses.size(),
      [](void *data, void *const *bytes) {
        return static_cast<Call *>(data)->run(bytes);
      },
      call, [](void *data) { delete static_cast<Call *>(data); });
  return result == CUDA_SUCCESS
             ? ncclSuccess
             : refuse(ncclUnhandledCudaError,
                      "the driver does not take the " + name);
}

/// Adds a call to the group; one outside of a group is one by itself.
Started &startedOn(ncclComm_t communicator, CUstream stream,
                   const std::string &name) {
  for (Started &each : group)
    if (each.ranks == communicator->ranks && each.stream == stream)
      return each;
  return group.emplace_back(communicator->ranks, stream,
                            std::vector<TenonEmulatedAccess>(),
                            std::vector<Transfer>(), name);
}

/// Numbers a message among those that were captured between two ranks.
Header headerOf(Ranks &ranks, Kind kind, int peer, bool isSend, uint64_t count,
                ncclDataType_t type, CUstream stream,
                ncclRedOp_t operation = ncclSum) {
  Header header{
      .kind = kind, .type = type, .operation = operation, .count = count};
  Link &link = ranks.links[size_t(peer)];
  if (tenonEmulatedCudaIsCapturing(stream))
    header.captured = (isSend ? link.capturedSends : link.capturedReceives)++;
  return header;
}

ncclResult_t check(ncclComm_t communicator, const void *bytes,
                   ncclDataType_t type, int peer) {
  if (!communicator || !bytes)
    return refuse(ncclInvalidArgument, "a communicator or a buffer is null");
  if (!nameOf(type))
    return refuse(ncclInvalidArgument,
                  "type " + std::to_string(int(type)) + " is none");
  if (peer < 0 || peer >= communicator->ranks->count)
    return refuse(ncclInvalidArgument,
                  "rank " + std::to_string(peer) + " of " +
                      std::to_string(communicator->ranks->count));
  if (communicator->ranks->isAborted)
    return refuse(ncclInvalidUsage, "a communicator that was aborted");
  return ncclSuccess;
}

uint64_t addressOf(const void *bytes) {
  return reinterpret_cast<uint64_t>(bytes);
}

/// Each rank sends what another combines: all that it has, or the part that is
/// scattered there.
ncclResult_t startReduction(ncclComm_t communicator, const void *send,
                            void *receive, bool scatters, size_t count,
                            ncclDataType_t type, ncclRedOp_t operation,
                            CUstream stream) {
  if (ncclResult_t wrong = check(communicator, receive, type, 0))
    return wrong;
  if (!send)
    return refuse(ncclInvalidArgument, "a buffer is null");
  if (operation != ncclSum && operation != ncclMax && operation != ncclMin)
    return refuse(ncclInvalidArgument, "operation " +
                                           std::to_string(int(operation)) +
                                           " is not emulated");
  ncclGroupStart();
  Started &into = startedOn(communicator, stream,
                            scatters ? "reduce-scatter" : "all-reduce");
  Ranks &ranks = *into.ranks;
  const auto members = uint64_t(ranks.count);
  const uint64_t size = count * widthOf(type);
  const size_t from = into.accesses.size(), to = from + 1;
  into.accesses.push_back(
      {addressOf(send), scatters ? size * members : size, false});
  into.accesses.push_back({addressOf(receive), size, true});
  const Kind kind = scatters ? Kind::scatter : Kind::reduce;
  for (int peer = 0; peer < ranks.count; ++peer)
    for (bool isSend : {true, false}) {
      const uint64_t part = size * uint64_t(peer);
      into.transfers.push_back(
          {peer, isSend,
           headerOf(ranks, kind, peer, isSend, count, type, stream, operation),
           isSend ? from : ownMemory,
           !isSend    ? into.ownBytes + part
           : scatters ? part
                      : 0,
           size});
    }
  into.reductions.push_back(
      {type, operation, into.ownBytes, to, count, members});
  into.ownBytes += size * members;
  return ncclGroupEnd();
}

ncclResult_t startOne(ncclComm_t communicator, const void *bytes, bool isSend,
                      size_t count, ncclDataType_t type, int peer,
                      CUstream stream) {
  if (ncclResult_t wrong = check(communicator, bytes, type, peer))
    return wrong;
  ncclGroupStart();
  Started &into = startedOn(communicator, stream, "sends and receives");
  const uint64_t size = count * widthOf(type);
  into.transfers.push_back(
      {peer, isSend,
       headerOf(*into.ranks, Kind::message, peer, isSend, count, type, stream),
       into.accesses.size(), 0, size});
  into.accesses.push_back({addressOf(bytes), size, !isSend});
  return ncclGroupEnd();
}

} // namespace

#pragma GCC visibility push(default)

ncclResult_t ncclGetVersion(int *version) {
  *version = versionNumber;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  constexpr const char *texts[] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  return result >= 0 && result <= ncclInProgress ? texts[result]
                                                 : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::random_device random;
  *id = {};
  std::snprintf(id->internal, sizeof(id->internal), "tenon-nccl-%d-%08x%08x",
                int(getpid()), unsigned(random()), unsigned(random()));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int count,
                              ncclUniqueId id, int rank) {
  if (count < 1 || rank < 0 || rank >= count)
    return refuse(ncclInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                           std::to_string(count));
  auto ranks = std::make_shared<Ranks>(rank, count);
  if (std::string why = ranks->meet(id); !why.empty())
    return refuse(ncclInvalidUsage, why);
  if (cuMemHostAlloc(&ranks->word, 4, /*flags=*/0) != CUDA_SUCCESS)
    return refuse(ncclUnhandledCudaError, "there is no memory");
  *communicator = new ncclComm{std::move(ranks)};
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  if (communicator->ranks.use_count() > 1)
    return refuse(ncclInvalidUsage,
                  "a communicator is destroyed before a graph that has its "
                  "calls");
  communicator->ranks->leave();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->ranks->isAborted = true;
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator,
                                   ncclResult_t *result) {
  *result = communicator->ranks->state;
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclComm_t communicator,
                           CUstream stream) {
  if (ncclResult_t wrong = check(communicator, receive, type, 0))
    return wrong;
  if (!send)
    return refuse(ncclInvalidArgument, "a buffer is null");
  ncclGroupStart();
  Started &into = startedOn(communicator, stream, "all-gather");
  Ranks &ranks = *into.ranks;
  const uint64_t size = count * widthOf(type);
  const size_t from = into.accesses.size(), to = from + 1;
  into.accesses.push_back({addressOf(send), size, false});
  into.accesses.push_back(
      {addressOf(receive), size * uint64_t(ranks.count), true});
  for (int peer = 0; peer < ranks.count; ++peer)
    for (bool isSend : {true, false})
      into.transfers.push_back(
          {peer, isSend,
           headerOf(ranks, Kind::gather, peer, isSend, count, type, stream),
           isSend ? from : to, isSend ? 0 : size * uint64_t(peer), size});
  return ncclGroupEnd();
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t communicator, CUstream stream) {
  return startReduction(communicator, send, receive, /*scatters=*/false, count,
                        type, operation, stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
                               ncclDataType_t type, ncclRedOp_t operation,
                               ncclComm_t communicator, CUstream stream) {
  return startReduction(communicator, send, receive, /*scatters=*/true, count,
                        type, operation, stream);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t communicator, CUstream stream) {
  return startOne(communicator, send, /*isSend=*/true, count, type, peer,
                  stream);
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t communicator, CUstream stream) {
  return startOne(communicator, receive, /*isSend=*/false, count, type, peer,
                  stream);
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (depth == 0)
    return refuse(ncclInvalidUsage, "a group ends that did not begin");
  if (--depth > 0)
    return ncclSuccess;
  std::vector<Started> calls = std::exchange(group, {});
  for (Started &each : calls)
    if (ncclResult_t result = enqueue(std::move(each)))
      return result;
  return ncclSuccess;
}

#pragma GCC visibility pop
