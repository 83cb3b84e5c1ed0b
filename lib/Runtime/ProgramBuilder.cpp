//===- ProgramBuilder.cpp - Captures an entry point for the processor ----===//
//
// See ProgramBuilder.h and, for how control flow is laid out, Program.h.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "PlaceBarriers.h"

#include <algorithm>
#include <system_error>
#include <utility>

using namespace tenon;
using namespace tenon::runtime;

static bool fail(std::string message, Error &error) {
  return refuse(error, Failure::file,
                "the file is damaged: " + std::move(message));
}

static Operation::Kind kindOf(format::CalleeKind kind) {
  switch (kind) {
  case format::CalleeKind::kernel:
    return Operation::launch;
  case format::CalleeKind::library:
    return Operation::libraryCall;
  case format::CalleeKind::copy:
    return Operation::copy;
  case format::CalleeKind::collective:
    return Operation::collective;
  }
  return Operation::copy;
}

static void cutCopy(uint64_t bytes, Operation &operation) {
  // Below this a second thread costs more than it helps.
  constexpr uint64_t bytesPerPart = 1 << 16;
  operation.bytes = bytes;
  operation.parts =
      uint32_t(std::clamp<uint64_t>(bytes / bytesPerPart, 1, 1024));
}

bool ProgramBuilder::launch(const format::Instruction &invoke, Error &error) {
  const format::Callee &callee = callees.described[invoke.callee];
  if (!started.checkQueue(invoke.queue, callee.kind, error))
    return false;
  Operation operation = make(kindOf(callee.kind), invoke.operands);
  operation.callee = invoke.callee;
  operation.parts = invoke.parts;
  for (int64_t argument : callee.reads)
    if (argument >= 0 && argument < int64_t(invoke.operands.size()))
      program->written[operation.firstPointer + argument] = false;
  if (operation.kind == Operation::launch)
    operation.function = callees.kernels[invoke.callee];
  else if (operation.kind == Operation::copy)
    cutCopy(invoke.operands[0].bytes, operation);
  else if (operation.kind == Operation::collective) {
    operation.call = invoke.callee;
    if (invoke.queue == 1)
      operation.kind = Operation::start;
    if (!checkCollective(invoke, error))
      return false;
  } else if (!bindCall(invoke, operation, error))
    return false;
  return append(operation, error);
}

bool ProgramBuilder::append(const Operation &operation, Error &error) {
  if (!started.check(pointersOf(operation), error))
    return false;
  if (operation.kind == Operation::start)
    started.start(StartedWork::collectives, pointersOf(operation),
                  operation.callee);
  program->list.push_back(operation);
  return true;
}

bool ProgramBuilder::checkCollective(const format::Instruction &invoke,
                                     Error &error) {
  const libraries::CollectiveDescription &made =
      *callees.collectives[invoke.callee];
  if (!callees.communicator)
    return fail("it has collectives and is for one rank", error);
  std::vector<int64_t> expected = libraries::argumentBytes(made);
  bool fits = invoke.operands.size() == expected.size();
  for (size_t i = 0; fits && i < expected.size(); ++i) {
    fits = invoke.operands[i].bytes >= uint64_t(expected[i]);
    for (size_t j = 0; j < i; ++j)
      fits &= !overlap(invoke.operands[i], invoke.operands[j]);
  }
  return fits ||
         fail("the arguments of a collective, " + libraries::describe(made) +
                  ", are not those that it works on",
              error);
}

bool ProgramBuilder::bindCall(const format::Instruction &invoke,
                              Operation &operation, Error &error) {
  const format::Callee &callee = callees.described[invoke.callee];
  const libraries::Call &made = *callees.calls[invoke.callee];
  int64_t operands = made.argumentCount() - (made.workspaceBytes() > 0);
  int64_t expected = operands + (callee.workspaceBytes > 0);
  if (int64_t(invoke.operands.size()) != expected)
    return fail("a library call has " + std::to_string(invoke.operands.size()) +
                    " arguments, expected " + std::to_string(expected),
                error);
  for (int64_t i = 0; i < made.argumentCount(); ++i)
    if (invoke.operands[i].bytes < uint64_t(made.argumentBytes(i)))
      return fail("argument " + std::to_string(i) + " of a library call has " +
                      std::to_string(invoke.operands[i].bytes) +
                      " bytes, it works on " +
                      std::to_string(made.argumentBytes(i)),
                  error);
  operation.call = uint32_t(program->sites.size());
  CallSite site;
  std::string message;
  site.bound = made.newBinding(message);
  if (!site.bound)
    return refuse(error, Failure::memory,
                  "a library call cannot be made ready: " + message);
  site.serial = true;
  for (int64_t phase = 0; phase < made.phases(); ++phase) {
    site.tasks.push_back(made.tasks(phase));
    site.serial &= made.tasks(phase) == 1;
  }
  program->sites.push_back(std::move(site));
  // Results, and the workspace behind them, are written.
  for (int64_t i = 0; i < made.operandCount(); ++i)
    program->written[operation.firstPointer + i] = false;
  for (uint32_t i = 0; i < operation.pointerCount; ++i)
    program->siteOfSlot[operation.firstPointer + i] = here() + 1;
  return true;
}

std::optional<Event> ProgramBuilder::record(uint32_t queue, uint32_t pending,
                                            Error &error) {
  return started.checkQueue(queue, error) ? std::optional(Event{queue, pending})
                                          : std::nullopt;
}

void ProgramBuilder::wait(Event event) {
  Operation operation =
      make(event.queue == 0 ? Operation::wait : Operation::await, {});
  operation.target = event.pending;
  program->list.push_back(operation);
  if (event.queue != StartedWork::main)
    started.await(event.queue, event.pending);
}

uint32_t ProgramBuilder::appendJump(uint32_t target) {
  Operation jump;
  jump.kind = Operation::jump;
  jump.target = target;
  program->list.push_back(jump);
  return here() - 1;
}

bool ProgramBuilder::loop(const format::Slice &predicate, int64_t /*trips*/,
                          const Body &condition, const Body &body,
                          Error &error) {
  uint32_t head = here();
  if (!started.captureBlock(condition, error))
    return false;
  uint32_t branch = here();
  if (!appendRead(Operation::branchUnless, predicate, error) ||
      !started.captureBlock(body, error))
    return false;
  appendJump(head);
  program->list[branch].target = here();
  return true;
}

bool ProgramBuilder::branch(const format::Slice &selector,
                            std::span<const Body> branches, Error &error) {
  auto firstTarget = uint32_t(program->targets.size());
  program->targets.resize(firstTarget + branches.size());
  if (!appendRead(Operation::select, selector, error))
    return false;
  Operation &select = program->list.back();
  select.target = firstTarget;
  select.parts = uint32_t(branches.size());
  select.bytes = selector.bytes;
  std::vector<uint32_t> ends;
  for (const Body &body : branches) {
    program->targets[firstTarget + ends.size()] = here();
    if (!started.captureBlock(body, error))
      return false;
    ends.push_back(appendJump(0));
  }
  for (uint32_t end : ends)
    program->list[end].target = here();
  return true;
}

Operation ProgramBuilder::make(Operation::Kind kind,
                               std::span<const format::Slice> slices) {
  Operation operation;
  operation.kind = kind;
  operation.firstPointer = uint32_t(program->places.size());
  operation.pointerCount = uint32_t(slices.size());
  program->places.insert(program->places.end(), slices.begin(), slices.end());
  program->siteOfSlot.resize(program->places.size());
  program->written.resize(program->places.size(), true);
  return operation;
}

/// Control flow, in which every thread reads the one operand.
bool ProgramBuilder::appendRead(Operation::Kind kind,
                                const format::Slice &slice, Error &error) {
  Operation operation = make(kind, {&slice, 1});
  program->written[operation.firstPointer] = false;
  return append(operation, error);
}

/// Whether `later` must not start before all threads are done with `earlier`.
/// Operations of thread 0 alone follow each other anyway; the others wait for
/// it where it awaits a collective.
bool ProgramBuilder::mustFollow(size_t later, size_t earlier) const {
  const Operation &a = program->list[earlier], &b = program->list[later];
  if (isSerial(a) && isSerial(b))
    return false;
  return a.kind == Operation::wait || b.kind == Operation::wait ||
         a.kind == Operation::await ||
         program->touchTheSame(pointersOf(a), pointersOf(b));
}

bool ProgramBuilder::isSerial(const Operation &operation) const {
  switch (operation.kind) {
  case Operation::launch:
  case Operation::copy:
    return operation.parts == 1;
  case Operation::libraryCall:
    return program->sites[operation.call].serial;
  case Operation::collective:
  case Operation::start:
  case Operation::await:
    return true;
  default:
    return false;
  }
}

std::unique_ptr<CapturedStep> ProgramBuilder::finish(Error &error) {
  if (!started.areDone(error))
    return nullptr;
  placeBarriers(
      program->list, program->targets,
      [&](size_t later, size_t earlier) { return mustFollow(later, earlier); });
  program->pointers.assign(program->places.size(), nullptr);
  unsigned team = std::min(threads, program->widestOperation());
  std::string why = whyNoTeam(team);
  if (started.mostCollectives() > 0 && callees.communicator->isForAnyThread())
    try {
      program->queue = std::make_unique<CollectiveQueue>(
          *callees.communicator, subnormals, started.mostCollectives());
    } catch (const std::system_error &thrown) {
      why = thrown.what();
    }
  if (why.empty())
    return std::move(program);
  return refuse(error, Failure::memory,
                "cannot start " +
                    std::to_string(team + (started.mostCollectives() > 0)) +
                    " threads: " + why + "; ask for fewer");
}
