//===- ProgramBuilder.h - Captures an entry point for the processor ------===//
//
// Private to this folder: appends what it is given to the operations of a
// program and places the barriers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_PROGRAMBUILDER_H
#define TENON_LIB_RUNTIME_PROGRAMBUILDER_H

#include "Program.h"
#include "StartedWork.h"

namespace tenon::runtime {

class ProgramBuilder final : public Capture {
public:
  /// The callees outlive the program, which a team of at most `threads` runs.
  ProgramBuilder(const CpuCallees &callees, unsigned threads,
                 Subnormals subnormals)
      : callees(callees), threads(threads), subnormals(subnormals),
        program(std::make_unique<Program>(callees, subnormals)),
        started(*program, callees.described, /*copiesBeside=*/false) {}

  bool launch(const format::Instruction &invoke, Error &error) override;
  std::optional<Event> record(uint32_t queue, uint32_t pending,
                              Error &error) override;
  void wait(Event event) override;
  bool loop(const format::Slice &predicate, int64_t trips,
            const Body &condition, const Body &body, Error &error) override;
  bool branch(const format::Slice &selector, std::span<const Body> branches,
              Error &error) override;
  size_t slotCount() const override { return program->places.size(); }
  /// An error too if the system does not give the program its team.
  std::unique_ptr<CapturedStep> finish(Error &error) override;

private:
  bool bindCall(const format::Instruction &invoke, Operation &operation,
                Error &error);
  bool checkCollective(const format::Instruction &invoke, Error &error);
  Operation make(Operation::Kind kind, std::span<const format::Slice> slices);
  bool appendRead(Operation::Kind kind, const format::Slice &slice,
                  Error &error);
  bool append(const Operation &operation, Error &error);
  uint32_t appendJump(uint32_t target);
  static CapturedStep::Pointers pointersOf(const Operation &operation) {
    return {operation.firstPointer, operation.pointerCount};
  }
  bool mustFollow(size_t later, size_t earlier) const;
  bool isSerial(const Operation &operation) const;
  uint32_t here() const { return uint32_t(program->list.size()); }

  const CpuCallees &callees;
  unsigned threads;
  Subnormals subnormals;
  std::unique_ptr<Program> program;
  StartedWork started;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_PROGRAMBUILDER_H
