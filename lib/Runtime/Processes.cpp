//===- Processes.cpp - A step that several processes run together ---------===//
//
// See Processes.h. What ranks agree on goes through the first: all send it what
// they have, and it sends all of them what follows.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Processes.h"

#include "ProcessRanks.h"

#include "tenon/Format/Hash.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace tenon;
using namespace tenon::runtime;

struct Processes::Implementation {
  std::unique_ptr<ProcessRanks> ranks;
  std::unique_ptr<Heartbeat> heartbeat;
  ProcessOptions options;
  std::atomic<int64_t> step = 0;
  std::atomic<bool> isEnding = false; // in MPI's own end
  bool isLeft = false;
  // Of the helper thread.
  int ticksSinceSignal = 0;
  bool isNoted = false;

  bool meet(Error &error);
  void tick();
  bool exchange(std::span<const OutgoingMessage> outgoing,
                std::span<const IncomingMessage> incoming, Error &error);
  bool sendFirst(std::span<const std::byte> own, std::span<std::byte> all,
                 Error &error);
  bool sendAll(std::span<std::byte> bytes, Error &error);
  std::string whatItDid() const;
};

/// "it waited in step 5 for collective ...".
std::string Processes::Implementation::whatItDid() const {
  std::string where = step > 0 ? " in step " + std::to_string(step) : "";
  return ranks->isAwaiting() ? "it waited" + where + " for " + ranks->awaited()
                             : "it was computing" + where;
}

/// A process that was asked to end ends although its main thread computes, or
/// waits for a rank that is lost. The launcher asks all when one of them has
/// died, and leaves them little time.
void Processes::Implementation::tick() {
  if (heartbeat->hasLoss() && !std::exchange(isNoted, true) && options.note)
    options.note("rank " + std::to_string(ranks->rank()) + " ends, since " +
                 heartbeat->loss() + "; " + whatItDid());
  if (heartbeat->hasLoss() && !ranks->wakeOthers(heartbeat->loss()) &&
      options.end)
    options.end("rank " + std::to_string(ranks->rank()) +
                " waits in vain, since " + heartbeat->loss() + "; " +
                whatItDid());
  if (isEnding && heartbeat->hasLoss() && options.end)
    options.end("rank " + std::to_string(ranks->rank()) +
                " waits in vain for the end of all ranks, since " +
                heartbeat->loss());
  const int number = options.signal ? options.signal() : 0;
  if (number == 0)
    return;
  if (++ticksSinceSignal == 1 && options.endsTogether)
    heartbeat->askToEnd();
  // The main thread says more of what it waited for, if it has the time.
  constexpr int ticksToEndItself = 2;
  if (ticksSinceSignal < ticksToEndItself || !options.end ||
      (options.endsTogether && !heartbeat->hasLoss()))
    return;
  std::string loss = heartbeat->loss();
  options.end("rank " + std::to_string(ranks->rank()) + " was asked to end" +
              (loss.empty() ? "" : " since " + loss) + "; " + whatItDid());
}

bool Processes::Implementation::exchange(
    std::span<const OutgoingMessage> outgoing,
    std::span<const IncomingMessage> incoming, Error &error) {
  if (ranks->exchange(outgoing, incoming))
    return true;
  return refuse(error, Failure::run,
                ranks->whyEnded() + "; it waited for " + ranks->awaited());
}

/// The first rank gets `own` of all ranks in `all`, in their order.
bool Processes::Implementation::sendFirst(std::span<const std::byte> own,
                                          std::span<std::byte> all,
                                          Error &error) {
  const OutgoingMessage mine{0, own};
  if (ranks->rank() != 0)
    return exchange({&mine, 1}, {}, error);
  std::vector<IncomingMessage> incoming;
  for (int64_t rank = 0; rank < ranks->ranks(); ++rank)
    incoming.push_back(
        {rank, all.subspan(size_t(rank) * own.size(), own.size())});
  return exchange({&mine, 1}, incoming, error);
}

/// All ranks get the first one's `bytes`.
bool Processes::Implementation::sendAll(std::span<std::byte> bytes,
                                        Error &error) {
  const IncomingMessage incoming{0, bytes};
  if (ranks->rank() != 0)
    return exchange({}, {&incoming, 1}, error);
  std::vector<OutgoingMessage> outgoing;
  for (int64_t rank = 1; rank < ranks->ranks(); ++rank)
    outgoing.push_back({rank, bytes});
  return exchange(outgoing, {}, error);
}

bool Processes::Implementation::meet(Error &error) {
  error.kind = Failure::machine;
  ranks = options.meeting
              ? ProcessRanks::meet(*options.meeting, error.message)
              : ProcessRanks::join(options.mpiLibrary, error.message);
  if (!ranks)
    return false;
  if (ranks->ranks() == 1)
    return true;
  ranks->await("the start of all ranks");
  Heartbeat::Invitation invitation = {};
  if (ranks->rank() == 0) {
    heartbeat = Heartbeat::invite(ranks->ranks(), options.heartbeat, invitation,
                                  error.message);
    if (!heartbeat)
      return false;
  }
  if (!sendAll(std::as_writable_bytes(std::span(invitation)), error))
    return false;
  if (ranks->rank() != 0)
    heartbeat = Heartbeat::accept(invitation, ranks->rank(), options.heartbeat,
                                  error.message);
  if (!heartbeat || !heartbeat->start([this] { tick(); }, error.message))
    return false;
  ranks->watch(heartbeat.get());
  return true;
}

std::shared_ptr<Processes> Processes::join(const ProcessOptions &options,
                                           Error &error) {
  auto implementation = std::make_unique<Implementation>();
  implementation->options = options;
  if (!implementation->meet(error))
    return nullptr;
  return std::shared_ptr<Processes>(new Processes(std::move(implementation)));
}

Processes::Processes(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

Processes::~Processes() {
  Error ignored;
  (void)leave(/*givesUp=*/true, ignored);
  // The helper thread uses the others.
  implementation->heartbeat.reset();
}

int64_t Processes::rank() const { return implementation->ranks->rank(); }
int64_t Processes::ranks() const { return implementation->ranks->ranks(); }
int64_t Processes::ranksHere() const {
  return implementation->ranks->ranksHere();
}

int64_t Processes::rankHere() const {
  return implementation->ranks->rankHere();
}

bool Processes::share(std::span<std::byte> bytes, std::string_view what,
                      Error &error) {
  implementation->ranks->await(what);
  return implementation->sendAll(bytes, error);
}

bool Processes::decide(int64_t &value, std::string_view what, Error &error) {
  return share(std::as_writable_bytes(std::span(&value, 1)), what, error);
}

bool Processes::ask(bool isSo, bool &areAll, std::string_view what,
                    Error &error) {
  implementation->ranks->await(what);
  auto own = std::byte(isSo);
  std::vector<std::byte> all(size_t(ranks()), own);
  if (!implementation->sendFirst({&own, 1}, all, error))
    return false;
  int64_t value = std::ranges::find(all, std::byte{0}) == all.end();
  if (!decide(value, what, error))
    return false;
  areAll = value != 0;
  return true;
}

namespace {

/// What a rank says of one thing, so short that it is sent as it is; the hash
/// is of all of its text.
struct ShortStatement {
  format::Hash hash;
  char text[240] = {};

  explicit ShortStatement(const std::string &whole = "")
      : hash(format::hashOf(std::as_bytes(std::span(whole)))) {
    constexpr size_t most = sizeof(text) - 1;
    std::string start =
        whole.size() <= most ? whole : whole.substr(0, most - 3) + "...";
    std::memcpy(text, start.data(), start.size());
  }
};

} // namespace

bool Processes::agree(const std::vector<Statement> &statements, Error &error) {
  // What follows is as long on all ranks only if all speak of the same things.
  if (statements.size() > 1) {
    std::string things;
    for (const Statement &statement : statements)
      things += (things.empty() ? "" : ", ") + statement.thing;
    if (!agree({{"list of what is compared", things}}, error))
      return false;
  }
  implementation->ranks->await("what all ranks have to agree on");
  std::vector<ShortStatement> own, all(statements.size() * size_t(ranks()));
  for (const Statement &statement : statements)
    own.emplace_back(statement.text);
  if (!implementation->sendFirst(std::as_bytes(std::span(own)),
                                 std::as_writable_bytes(std::span(all)), error))
    return false;
  // The first thing that differs: of which rank, and which it is.
  struct Difference {
    int64_t rank = 0, thing = 0;
    ShortStatement first, other;
  } found;
  for (size_t i = own.size(); isFirst() && i-- > 0;)
    for (size_t rank = size_t(ranks()); rank-- > 1;)
      if (!(all[rank * own.size() + i].hash == own[i].hash))
        found = {int64_t(rank), int64_t(i), own[i], all[rank * own.size() + i]};
  if (!implementation->sendAll(std::as_writable_bytes(std::span(&found, 1)),
                               error))
    return false;
  if (found.rank == 0)
    return true;
  return refuse(error, Failure::argument,
                "rank " + std::to_string(found.rank) + " has another " +
                    statements[size_t(found.thing)].thing + " than rank 0: '" +
                    found.other.text + "', not '" + found.first.text + "'");
}

bool Processes::isAskedToEnd() const {
  return implementation->heartbeat && implementation->heartbeat->isAskedToEnd();
}

void Processes::setStep(int64_t step) { implementation->step = step; }

bool Processes::leave(bool givesUp, Error &error) {
  if (implementation->isLeft)
    return true;
  Heartbeat *heartbeat = implementation->heartbeat.get();
  implementation->step = 0;
  // MPI's own end waits for all ranks, where only the helper thread looks for
  // those that are lost.
  bool areAll = false;
  bool isWhole = !givesUp && (!heartbeat ||
                              ask(true, areAll, "the end of all ranks", error));
  implementation->isEnding = isWhole;
  if (isWhole)
    implementation->ranks->leave();
  implementation->isLeft = true;
  if (heartbeat)
    heartbeat->leave(/*givesUp=*/!isWhole);
  return isWhole || givesUp;
}

Communicator &Processes::communicator() { return *implementation->ranks; }

uint64_t Processes::reductionsByMpi() const {
  return implementation->ranks->reductionsByMpi();
}

uint64_t Processes::receivedBytes() const {
  return implementation->ranks->receivedBytes();
}
