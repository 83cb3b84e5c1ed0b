//===- Launch.cpp - Warps, blocks and grids ---------------------------===//

#include "Launch.h"
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <span>

using namespace tenon::emulated;

uint64_t tenon::emulated::scramble(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t x = seed;
  for (uint64_t word : {a, b}) {
    // One round of SplitMix64 per word.
    x += word + 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    x ^= x >> 31;
  }
  return x;
}

Settings Settings::fromEnvironment() {
  Settings settings;
  if (const char *text = getenv("TENON_EMULATED_CUDA_SM"))
    settings.target = atoi(text);
  if (const char *text = getenv("TENON_EMULATED_CUDA_GPUS"))
    settings.gpus = atoi(text);
  if (const char *text = getenv("TENON_EMULATED_CUDA_MEMORY"))
    settings.memoryBytes = strtoull(text, nullptr, 0);
  if (const char *text = getenv("TENON_EMULATED_CUDA_COPIES"))
    settings.copiesArriveEarly = strcmp(text, "early") == 0;
  if (const char *text = getenv("TENON_EMULATED_CUDA_APPROXIMATE"))
    settings.approximateSeed = strtoull(text, nullptr, 0);
  if (const char *text = getenv("TENON_EMULATED_CUDA_ORDER"))
    settings.order =
        strcmp(text, "reverse") == 0 ? 1 : strtoull(text, nullptr, 0);
  if (const char *text = getenv("TENON_EMULATED_CUDA_STREAMS"))
    settings.streamsAreLate = strcmp(text, "late") == 0;
  if (const char *text = getenv("TENON_EMULATED_CUDA_CUBLASLT_VERSION"))
    settings.cublasLtVersion = strtoull(text, nullptr, 0);
  if (const char *text = getenv("TENON_EMULATED_CUDA_CUBLASLT_REFUSE"))
    settings.refusalSeed =
        strcmp(text, "all") == 0 ? ~uint64_t(0) : strtoull(text, nullptr, 0);
  if (const char *text = getenv("TENON_EMULATED_CUDA_CUBLASLT_TAILS"))
    settings.forgetful = strcmp(text, "dropped") == 0 ? Forgetful::FirstOffered
                         : strcmp(text, "parts") == 0 ? Forgetful::InParts
                         : strcmp(text, "all") == 0   ? Forgetful::All
                                                      : Forgetful::None;
  if (const char *text = getenv("TENON_EMULATED_CUDA_CUBLASLT_TIMES"))
    settings.timeSeed = strtoull(text, nullptr, 0);
  return settings;
}

void Warp::fail(CUresult code, const std::string &what, int lane) const {
  const Grid &grid = *block->grid;
  std::string text = "kernel '" + grid.function->name + "', block (";
  for (int i = 0; i < 3; ++i)
    text += std::to_string(block->place[i]) + (i < 2 ? ", " : ")");
  if (lane >= 0) {
    unsigned thread = index * laneCount + lane;
    text += ", thread (" + std::to_string(thread % grid.threads[0]) + ", " +
            std::to_string(thread / grid.threads[0] % grid.threads[1]) + ", " +
            std::to_string(thread / grid.threads[0] / grid.threads[1]) + ")";
  } else {
    text += ", warp " + std::to_string(index);
  }
  if (current) {
    text += ", PTX line " + std::to_string(current->line) + " (" +
            current->opcode + ")";
    if (current->sourceLine) {
      auto file = grid.program->files.find(current->sourceFile);
      text += ", " +
              (file == grid.program->files.end()
                   ? "file " + std::to_string(current->sourceFile)
                   : file->second) +
              ":" + std::to_string(current->sourceLine) + ":" +
              std::to_string(current->sourceColumn);
    }
  }
  throw Fault{code, text + ": " + what};
}

void Warp::requireAligned(Mask active) const {
  if (active == exists)
    return;
  int lane = std::countr_zero(exists & ~active);
  fail(CUDA_ERROR_LAUNCH_FAILED,
       "divergent lanes: all lanes of the warp must come here together, lane " +
           std::to_string(lane) +
           (ended >> lane & 1 ? " has ended" : " is elsewhere"));
}

void Warp::requireMembers(Mask members, Mask active) const {
  Mask expected = members & exists & ~ended;
  if (expected == active)
    return;
  char text[160];
  snprintf(text, sizeof(text),
           "partial mask: the member mask 0x%08x names other lanes than those "
           "that are here, "
           "0x%08x",
           members, active);
  fail(CUDA_ERROR_LAUNCH_FAILED, text);
}

void Warp::end(Mask lanes) {
  for (unsigned lane = 0; lane < laneCount; ++lane)
    if (lanes >> lane & 1) {
      // What was not waited for arrives nevertheless when the thread ends.
      for (auto &group : groups[lane])
        for (auto &copy : group)
          arrive(lane, copy);
      for (auto &copy : open[lane])
        arrive(lane, copy);
      groups[lane].clear();
      open[lane].clear();
    }
  ended |= lanes;
  for (StackEntry &entry : stack)
    entry.lanes &= ~lanes;
}

void Warp::askForValues(const Instruction &instruction, Mask active) {
  for (uint32_t index : instruction.reads)
    if (Mask missing = active & ~defined[index])
      fail(CUDA_ERROR_LAUNCH_FAILED, "reads a register that was never written",
           std::countr_zero(missing));
}

/// Bytes that come out the same whatever stands in the bytes without a value do
/// not hang on these; so the instruction is executed with zeros in them, and
/// with ones.
void Warp::carry(const Instruction &instruction, Mask active) {
  Mask known = active;
  for (uint32_t index : instruction.reads)
    known &= defined[index];
  auto execute = [&] { instruction.execute(*this, instruction, active); };
  if (known == active) {
    execute();
    for (uint32_t index : instruction.writes)
      defined[index] |= active;
    return;
  }
  std::vector<const Operand *> sources, results;
  for (const auto *list : {&instruction.operands, &instruction.elements})
    for (const Operand &operand : *list)
      if (operand.kind == Operand::Register) {
        if (std::ranges::count(instruction.reads, operand.index))
          sources.push_back(&operand);
        if (std::ranges::count(instruction.writes, operand.index))
          results.push_back(&operand);
      }
  if (results.empty() || results.front()->bits == 1) {
    execute();
    for (uint32_t index : instruction.writes)
      defined[index] = (defined[index] & ~active) | known;
    return;
  }
  for (const Operand *source : sources)
    if (Mask missing = active & ~defined[source->index];
        missing && source->bits == 1)
      fail(CUDA_ERROR_LAUNCH_FAILED, "reads a register that was never written",
           std::countr_zero(missing));

  if (undefinedBytes.empty()) {
    undefinedBytes.resize(block->grid->function->registerCount);
    for (auto &ofLanes : undefinedBytes)
      ofLanes.fill(0xFF);
  }
  auto bytesOf = [&](const Operand *operand) {
    return std::span(registers + operand->offset,
                     operand->bits == 1 ? sizeof(Mask)
                                        : laneCount * operand->bits / 8);
  };
  auto copies = [&](const std::vector<const Operand *> &operands) {
    std::vector<std::vector<uint8_t>> all;
    for (const Operand *operand : operands)
      all.emplace_back(bytesOf(operand).begin(), bytesOf(operand).end());
    return all;
  };
  const auto before = copies(sources);
  auto restore = [&] {
    for (size_t i = 0; i < sources.size(); ++i)
      std::ranges::copy(before[i], bytesOf(sources[i]).begin());
  };
  auto executeWith = [&](uint8_t filler) {
    restore();
    for (const Operand *source : sources) {
      const unsigned width = source->bits / 8;
      for (Mask rest = active & ~defined[source->index]; rest && width;
           rest &= rest - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
        for (unsigned byte = 0; byte < width; ++byte)
          if (undefinedBytes[source->index][lane] >> byte & 1)
            bytesOf(source)[lane * width + byte] = filler;
      }
    }
    execute();
    return copies(results);
  };
  const auto zeros = executeWith(0), ones = executeWith(0xFF);
  restore();
  for (size_t i = 0; i < results.size(); ++i) {
    const uint32_t index = static_cast<uint32_t>(results[i]->index);
    const unsigned width = results[i]->bits / 8;
    std::ranges::copy(ones[i], bytesOf(results[i]).begin());
    for (Mask rest = active; rest; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
      uint8_t missing = 0;
      for (unsigned byte = 0; byte < width; ++byte)
        missing |=
            (zeros[i][lane * width + byte] != ones[i][lane * width + byte])
            << byte;
      undefinedBytes[index][lane] = missing;
      defined[index] = (defined[index] & ~(1u << lane)) | Mask(missing == 0)
                                                              << lane;
    }
  }
}

void Warp::branchByIndex(const Instruction &instruction, Mask active) {
  const std::vector<uint32_t> &targets = instruction.targets;
  const uint32_t *indices = lanesOf<uint32_t>(instruction.operands[0]);
  const StackEntry top = stack.back();
  std::vector<StackEntry> parted;
  if (Mask stayed = top.lanes & ~active)
    parted.push_back({top.next + 1, instruction.meet, stayed});
  while (active) {
    const int first = std::countr_zero(active);
    const uint32_t index = indices[first];
    if (index >= targets.size())
      fail(CUDA_ERROR_ILLEGAL_INSTRUCTION,
           "there is no label " + std::to_string(index) + " in a list of " +
               std::to_string(targets.size()),
           first);
    Mask together = 0;
    for (Mask rest = active; rest; rest &= rest - 1)
      if (indices[std::countr_zero(rest)] == index)
        together |= rest & -rest;
    parted.push_back({targets[index], instruction.meet, together});
    active &= ~together;
  }
  if (parted.size() == 1) {
    stack.back().next = parted.front().next;
    return;
  }
  if (instruction.meet == top.meet)
    stack.pop_back();
  else
    stack.back().next = instruction.meet;
  stack.insert(stack.end(), parted.begin(), parted.end());
}

void Warp::run() {
  const Function &function = *block->grid->function;
  const Instruction *code = function.code.data();
  const uint32_t size = function.code.size();
  TenonEmulatedCounters &counters = *block->grid->counters;
  state = Running;
  while (!stack.empty()) {
    StackEntry &top = stack.back();
    if (!top.lanes || top.next == top.meet) {
      // Lanes that ran off the end of the code have ended without `ret`.
      if (top.lanes && top.next >= size)
        fail(CUDA_ERROR_ILLEGAL_INSTRUCTION, "the code ends without ret");
      stack.pop_back();
      continue;
    }
    const Instruction &instruction = code[top.next];
    current = &instruction;
    Mask active = top.lanes;
    if (instruction.guard.kind != Operand::None) {
      if (Mask missing = active & ~defined[instruction.guard.index];
          missing && instruction.guard.kind == Operand::Register)
        fail(CUDA_ERROR_LAUNCH_FAILED, "its guard predicate was never written",
             std::countr_zero(missing));
      active &= predicate(instruction.guard);
    }
    counters.laneInstructions +=
        active == allLanes ? laneCount : std::popcount(active);

    switch (instruction.flow) {
    case Instruction::Branch: {
      Mask taken = active, stayed = top.lanes & ~active;
      if (!stayed) {
        top.next = instruction.target;
      } else if (!taken) {
        ++top.next;
      } else {
        uint32_t next = top.next, meet = instruction.meet;
        if (meet == top.meet)
          stack.pop_back();
        else
          top.next = meet;
        stack.push_back({next + 1, meet, stayed});
        stack.push_back({instruction.target, meet, taken});
      }
      continue;
    }
    case Instruction::IndexedBranch:
      askForValues(instruction, active);
      branchByIndex(instruction, active);
      continue;
    case Instruction::Exit:
      ++top.next;
      end(active);
      continue;
    case Instruction::Straight:
    case Instruction::Barrier:
      break;
    }

    ++top.next;
    if (!active && instruction.flow == Instruction::Straight)
      continue;
    if (instruction.carriesUndefined) {
      carry(instruction, active);
    } else {
      askForValues(instruction, active);
      instruction.execute(*this, instruction, active);
      for (uint32_t index : instruction.writes)
        defined[index] |= active;
    }
    if (instruction.flow == Instruction::Barrier) {
      state = AtBarrier;
      return;
    }
  }
  state = Ended;
}

namespace {

void releaseBarrier(Block &block, const std::vector<Warp *> &waiting) {
  std::vector<uint32_t> joined(block.warps.size());
  KnowledgePointer acquired;
  for (Warp *warp : waiting) {
    for (size_t i = 0; i < joined.size(); ++i)
      joined[i] = std::max(joined[i], warp->knownWarps[i]);
    for (auto &lane : warp->acquired)
      acquired = join(acquired, lane);
  }
  for (Warp *warp : waiting)
    joined[warp->index] = warp->clock;
  for (Warp *warp : waiting) {
    warp->knownWarps = joined;
    warp->knownByAll = warp->clock;
    warp->known.clear();
    warp->acquired.fill(acquired);
    warp->hasFenced |= acquired != nullptr;
    warp->noteKnown();
    if (++warp->clock == clockLimit)
      warp->fail(CUDA_ERROR_NOT_SUPPORTED,
                 "more barriers than the emulation can count");
    warp->state = Warp::Running;
  }
}

/// Lets go the warps whose barrier all that it waits for have reached; if there
/// are none, nobody ever comes.
void releaseBarriers(Block &block) {
  bool any = false;
  std::map<unsigned, std::vector<Warp *>> waiting;
  unsigned endedWarps = 0;
  for (Warp &warp : block.warps) {
    if (warp.state == Warp::AtBarrier)
      waiting[warp.barrier].push_back(&warp);
    endedWarps += warp.state == Warp::Ended;
  }
  for (auto &[barrier, warps] : waiting) {
    size_t expected = block.warps.size();
    if (unsigned threads = warps[0]->barrierThreads) {
      if (threads % laneCount)
        warps[0]->fail(CUDA_ERROR_LAUNCH_FAILED,
                       "a barrier of " + std::to_string(threads) +
                           " threads, which is not a multiple of 32");
      expected = threads / laneCount;
    }
    for (Warp *warp : warps)
      if (warp->barrierThreads != warps[0]->barrierThreads)
        warp->fail(CUDA_ERROR_LAUNCH_FAILED,
                   "divergent barrier: warps expect different numbers of "
                   "threads");
    if (warps.size() > expected)
      warps[0]->fail(CUDA_ERROR_LAUNCH_FAILED,
                     "divergent barrier: " + std::to_string(warps.size()) +
                         " warps came, it waits for " +
                         std::to_string(expected));
    if (warps.size() == expected) {
      releaseBarrier(block, warps);
      any = true;
    }
  }
  if (!any) {
    Warp &warp = *waiting.begin()->second[0];
    warp.fail(
        CUDA_ERROR_LAUNCH_FAILED,
        "divergent barrier: " + std::to_string(waiting.begin()->second.size()) +
            " of " + std::to_string(block.warps.size()) +
            " warps wait for it, " + std::to_string(endedWarps) +
            " have ended and nobody else comes");
  }
}

void setSpecialRegisters(Warp &warp, const Grid &grid) {
  uint32_t values[specialCount][laneCount];
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    unsigned thread = warp.index * laneCount + lane;
    const uint32_t lower = (1u << lane) - 1;
    const uint32_t ofLane[specialCount] = {
        thread % grid.threads[0],
        thread / grid.threads[0] % grid.threads[1],
        thread / grid.threads[0] / grid.threads[1],
        grid.threads[0],
        grid.threads[1],
        grid.threads[2],
        warp.block->place[0],
        warp.block->place[1],
        warp.block->place[2],
        grid.extent[0],
        grid.extent[1],
        grid.extent[2],
        lane,
        warp.index,
        static_cast<uint32_t>(warp.block->warps.size()),
        1u << lane,
        lower | 1u << lane,
        lower,
        ~lower,
        ~(lower | 1u << lane),
        grid.dynamicSharedBytes,
        grid.function->dynamicBase - uint32_t(sharedBase) +
            grid.dynamicSharedBytes};
    for (uint32_t i = 0; i < specialCount; ++i)
      values[i][lane] = ofLane[i];
  }
  memcpy(warp.registers, values, sizeof(values));
  for (uint32_t i = 0; i < specialCount; ++i)
    warp.defined[i] = warp.exists;
}

/// The numbers below `count` in the order of the settings.
std::vector<uint32_t> ordered(uint32_t count, uint64_t order, uint64_t round) {
  std::vector<uint32_t> numbers(count);
  for (uint32_t i = 0; i < count; ++i)
    numbers[i] = order == 1 ? count - 1 - i : i;
  if (order > 1)
    for (uint32_t i = count; i > 1; --i)
      std::swap(numbers[i - 1], numbers[scramble(order, round, i) % i]);
  return numbers;
}

} // namespace

void Grid::run() {
  const uint32_t threadCount = threads[0] * threads[1] * threads[2];
  const uint32_t warpCount = (threadCount + laneCount - 1) / laneCount;
  const uint64_t blockCount = uint64_t(extent[0]) * extent[1] * extent[2];
  if (blockCount > blockLimit)
    throw Fault{CUDA_ERROR_NOT_SUPPORTED,
                "kernel '" + function->name +
                    "': " + std::to_string(blockCount) +
                    " blocks, the emulation can tell apart " +
                    std::to_string(blockLimit)};
  ++counters->launches;

  const uint64_t sharedBytes =
      function->dynamicBase - sharedBase + dynamicSharedBytes;
  std::vector<uint8_t> sharedData(sharedBytes + 16);
  Region shared(Region::Shared, sharedBase, sharedBytes, sharedData.data(),
                false);
  // 64 bits, so that lanes of every type are aligned.
  std::vector<uint64_t> registers((function->registerBytes + 7) / 8 *
                                  warpCount);
  std::vector<Mask> defined(size_t(function->registerCount) * warpCount);

  Block block;
  block.grid = this;
  block.shared = &shared;
  uint64_t turn = 0;
  for (uint32_t number : ordered(blockCount, settings->order, 0)) {
    block.index = number;
    block.place[0] = number % extent[0];
    block.place[1] = number / extent[0] % extent[1];
    block.place[2] = number / extent[0] / extent[1];
    if (++block.generation == generationLimit) {
      block.generation = 1;
      shared.shadow = decltype(shared.shadow)(shared.shadow.size());
    }
    std::fill(sharedData.begin(), sharedData.end(), 0xFF);
    std::fill(shared.state.begin(), shared.state.end(), 0);
    std::fill(defined.begin(), defined.end(), 0);
    block.warps.clear();
    block.warps.resize(warpCount);
    for (uint32_t i = 0; i < warpCount; ++i) {
      Warp &warp = block.warps[i];
      warp.block = &block;
      warp.index = i;
      unsigned lanes = std::min(threadCount - i * laneCount, laneCount);
      warp.exists = lanes == laneCount ? allLanes : (1u << lanes) - 1;
      warp.registers = reinterpret_cast<uint8_t *>(
          registers.data() + (function->registerBytes + 7) / 8 * i);
      warp.defined = defined.data() + size_t(function->registerCount) * i;
      warp.knownWarps.assign(warpCount, 0);
      warp.stack.push_back(
          {0, static_cast<uint32_t>(function->code.size()), warp.exists});
      if (function->localBytes) {
        uint64_t bytes = uint64_t(function->localBytes) * laneCount;
        warp.local =
            std::make_unique<Region>(Region::Local, 0, bytes, nullptr, false);
        warp.local->data = new uint8_t[bytes];
      }
      setSpecialRegisters(warp, *this);
    }
    struct FreeLocal {
      Block &block;
      ~FreeLocal() {
        for (Warp &warp : block.warps)
          if (warp.local)
            delete[] warp.local->data;
      }
    } freeLocal{block};

    for (bool running = true; running;) {
      bool waiting = false;
      running = false;
      for (uint32_t i : ordered(warpCount, settings->order, ++turn)) {
        Warp &warp = block.warps[i];
        if (warp.state == Warp::Running)
          warp.run();
        waiting |= warp.state == Warp::AtBarrier;
      }
      if (waiting) {
        releaseBarriers(block);
        running = true;
      }
    }
  }
}
