//===- ProcessRanks.cpp - A rank that is a process, among others ----------===//
//
// See ProcessRanks.h.
//
//===----------------------------------------------------------------------===//

#include "ProcessRanks.h"

#include "SocketMessages.h"

#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <sched.h>
#include <thread>

using namespace tenon;
using namespace tenon::runtime;
using libraries::CollectiveDescription;
using libraries::Combination;

static constexpr const char *libraryName = "libtenon-mpi.so";

/// Where the library may be: beside this code, as the runtime library and the
/// tool of a build folder or an installation are, or where the loader looks.
static std::vector<std::string> placesOfLibrary() {
  std::vector<std::string> places;
  Dl_info self;
  if (dladdr(reinterpret_cast<const void *>(&placesOfLibrary), &self) != 0 &&
      self.dli_fname) {
    std::error_code ignored;
    auto folder =
        std::filesystem::canonical(self.dli_fname, ignored).parent_path();
    for (const char *at : {"", "../lib", "../lib/x86_64-linux-gnu"})
      if (auto file = folder / at / libraryName;
          !folder.empty() && std::filesystem::exists(file, ignored))
        places.push_back(file.string());
  }
  places.emplace_back(libraryName);
  return places;
}

static const MessageTable *openTable(const std::string &file,
                                     std::string &error) {
  const std::string name = file.empty() ? placesOfLibrary().front() : file;
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const MessageTable *(*find)() = nullptr;
  if (library)
    find = reinterpret_cast<decltype(find)>(dlsym(library, "tenonMpi"));
  if (!find) {
    const char *reason = dlerror();
    (void)refuse(error,
                 std::string("ranks that are processes need ") + libraryName +
                     ", which cannot be opened: " +
                     (reason ? reason : "unknown reason") +
                     "; install Debian's openmpi-bin, or run the ranks in one "
                     "process with --ranks");
    return nullptr;
  }
  if (find()->version != messageTableVersion) {
    (void)refuse(error, "'" + name + "' is of another version of Tenon");
    return nullptr;
  }
  return find();
}

std::unique_ptr<ProcessRanks> ProcessRanks::join(const std::string &library,
                                                 std::string &error,
                                                 uint64_t most) {
  const MessageTable *table = openTable(library, error);
  if (!table)
    return nullptr;
  MessageGroup *group = table->join();
  if (!group)
    return refuse(error, std::string("MPI does not start: ") + table->whyNot());
  return std::unique_ptr<ProcessRanks>(new ProcessRanks(table, group, most));
}

std::unique_ptr<ProcessRanks> ProcessRanks::meet(const Meeting &meeting,
                                                 std::string &error) {
  MessageGroup *group = meetBySockets(meeting, error);
  if (!group)
    return nullptr;
  return std::unique_ptr<ProcessRanks>(
      new ProcessRanks(&socketMessages, group, uint64_t(1) << 30));
}

ProcessRanks::~ProcessRanks() = default;

void ProcessRanks::await(std::string_view what) {
  std::lock_guard lock(access);
  operation = what;
}

std::string ProcessRanks::awaited() const {
  std::lock_guard lock(access);
  return operation;
}

void ProcessRanks::whenLost(std::function<bool(const std::string &)> next) {
  std::lock_guard lock(waking);
  wake = std::move(next);
}

bool ProcessRanks::wakeOthers(const std::string &loss) {
  std::lock_guard lock(waking);
  if (!wake)
    return true;
  const bool isAwake = wake(loss);
  wake = nullptr;
  return isAwake;
}

bool ProcessRanks::exchange(std::span<const OutgoingMessage> outgoing,
                            std::span<const IncomingMessage> incoming) {
  sending.clear();
  receiving.clear();
  const int64_t self = rank();
  const OutgoingMessage *toSelf = nullptr;
  for (const OutgoingMessage &message : outgoing)
    if (message.to == self)
      toSelf = &message;
    else if (!message.bytes.empty())
      sending.push_back({message.to,
                         const_cast<std::byte *>(message.bytes.data()),
                         message.bytes.size()});
  for (const IncomingMessage &message : incoming)
    if (message.from != self && !message.bytes.empty()) {
      receiving.push_back(
          {message.from, message.bytes.data(), message.bytes.size()});
      received += message.bytes.size();
    }
  if (!table->begin(group, sending.data(), sending.size(), receiving.data(),
                    receiving.size(), most))
    return fail(table->whyNot());
  for (const IncomingMessage &message : incoming)
    if (message.from == self && !message.bytes.empty()) {
      if (!toSelf || toSelf->bytes.size() != message.bytes.size())
        return fail("a rank sends itself something else than it expects");
      // What it sends may be in its place already, where it is sent from.
      if (toSelf->bytes.data() != message.bytes.data())
        std::memmove(message.bytes.data(), toSelf->bytes.data(),
                     message.bytes.size());
    }
  return complete();
}

bool ProcessRanks::fail(std::string reason) {
  why = std::move(reason);
  return false;
}

bool ProcessRanks::complete() {
  // Short waits ask again and again, longer ones leave the processor to others.
  // One who has a processor of its own gives it away later: whoever gets it may
  // keep it for milliseconds.
  const int quickTests =
      countHere <= int64_t(std::thread::hardware_concurrency()) ? 2048 : 64;
  constexpr int yieldingTests = 4096;
  for (int tests = 0;; ++tests) {
    int state = table->test(group);
    if (state != 0) {
      isWaiting = false;
      return state > 0 || fail(table->whyNot());
    }
    if (heartbeat && heartbeat->hasLoss())
      return fail("rank " + std::to_string(number) + " waits in vain, since " +
                  heartbeat->loss());
    if (tests == quickTests)
      isWaiting = true;
    if (tests > quickTests + yieldingTests)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else if (tests >= quickTests)
      sched_yield();
  }
}

//===----------------------------------------------------------------------===//
// Reductions by MPI
//===----------------------------------------------------------------------===//

const ProcessRanks::Reduction *
ProcessRanks::find(const CollectiveDescription &d) const {
  auto found = std::ranges::find(reductions, d, &Reduction::description);
  return found == reductions.end() ? nullptr : &*found;
}

bool ProcessRanks::prepareReduction(const CollectiveDescription &d) {
  if (!table->divide || find(d))
    return true;
  for (const Reduction &other : reductions)
    if (other.description.groupSize == d.groupSize &&
        other.description.groups == d.groups) {
      reductions.push_back({d, other.division});
      return true;
    }
  std::vector<int64_t> numbers;
  for (const libraries::Participant &one : d.groups)
    numbers.push_back(one.rank);
  await("the communicators of MPI");
  // Nobody can wake who waits inside MPI.
  whenLost([](const std::string &) { return false; });
  const int division =
      table->divide(group, numbers.data(), numbers.size(), size_t(d.groupSize));
  whenLost(nullptr);
  if (division < 0)
    return fail(table->whyNot());
  reductions.push_back({d, division});
  return true;
}

bool ProcessRanks::reduces(const CollectiveDescription &d) const {
  return find(d);
}

static RankElement elementOf(ElementType type) {
  switch (type) {
  case ElementType::i8:
    return RankElement::i8;
  case ElementType::i16:
    return RankElement::i16;
  case ElementType::i32:
    return RankElement::i32;
  case ElementType::i64:
    return RankElement::i64;
  case ElementType::ui16:
    return RankElement::u16;
  case ElementType::ui32:
    return RankElement::u32;
  case ElementType::ui64:
    return RankElement::u64;
  case ElementType::f32:
    return RankElement::f32;
  case ElementType::f64:
    return RankElement::f64;
  default: // ui8, and i1 in a byte: canReduce() lets no other type through
    return RankElement::u8;
  }
}

static RankOperation operationOf(Combination combination) {
  return combination == Combination::sum       ? RankOperation::sum
         : combination == Combination::maximum ? RankOperation::maximum
                                               : RankOperation::minimum;
}

bool ProcessRanks::reduce(const CollectiveDescription &d, const std::byte *from,
                          std::byte *to) {
  const RankReduction reduction{
      .division = find(d)->division,
      .scatters = d.kind == libraries::CollectiveKind::reduceScatter,
      .type = elementOf(d.type),
      .operation = operationOf(d.combination),
      .from = from,
      .to = to,
      .count = uint64_t(d.outer * d.piece)};
  if (!table->beginReduction(group, reduction, most))
    return fail(table->whyNot());
  received += uint64_t(libraries::receivedBytes(d, number));
  ++reduced;
  return complete();
}

void ProcessRanks::leave() {
  isWaiting = true;
  table->leave(group);
  group = nullptr;
}
