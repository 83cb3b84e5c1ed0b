//===- PlanOffsets.cpp - A place for every value -------------------------===//
//
// Turns buffer classes into an offset-packing problem, solves it and writes the
// places into the IR. Segments of arguments, results and constants are laid out
// in order; only temporaries are packed over time.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Memory/BufferClasses.h"
#include "tenon/Solver/OffsetPacking.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FileSystem.h"

namespace tenon::memory {
#define GEN_PASS_DEF_PLANOFFSETSPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// Every node of the search looks at every buffer: some hundredths of a second.
constexpr int64_t quickVisits = 20'000'000;

int64_t aligned(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

struct PlanOffsets : public memory::impl::PlanOffsetsPassBase<PlanOffsets> {
  using PlanOffsetsPassBase::PlanOffsetsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    BufferClasses buffers(function);
    offsets.clear();
    segmentBytes.fill(0);
    layOutBoundSegments(buffers);
    if (failed(packTemporaries(buffers)))
      return signalPassFailure();
    writePlaces(buffers);
  }

private:
  int64_t &bytesOf(step::Segment segment) {
    return segmentBytes[size_t(segment)];
  }

  void layOutBoundSegments(const BufferClasses &buffers) {
    for (BufferClasses::Id id : buffers.representatives()) {
      const BufferClass &buffer = buffers[id];
      if (buffer.segment == step::Segment::temporaries)
        continue;
      int64_t &bytes = bytesOf(buffer.segment);
      offsets[id] = bytes;
      bytes += aligned(buffer.bytes);
    }
  }

  LogicalResult packTemporaries(const BufferClasses &buffers) {
    solver::OffsetPackingProblem problem;
    SmallVector<BufferClasses::Id> ids;
    auto add = [&](int64_t bytes, ArrayRef<Interval> intervals) {
      solver::OffsetPackingProblem::Buffer buffer;
      buffer.size = aligned(std::max<int64_t>(bytes, 1));
      buffer.alignment = bufferAlignment;
      // An operation's results must not overlap what it reads, so a value takes
      // its place while the operation that writes it runs: from 2t on.
      for (const Interval &interval : intervals) {
        int64_t begin = std::max<int64_t>(0, interval.begin - 1);
        if (!buffer.windows.empty() && begin <= buffer.windows.back().end)
          buffer.windows.back().end =
              std::max(buffer.windows.back().end, interval.end);
        else
          buffer.windows.push_back({begin, interval.end});
      }
      problem.buffers.push_back(std::move(buffer));
    };
    for (BufferClasses::Id id : buffers.representatives()) {
      const BufferClass &buffer = buffers[id];
      if (buffer.segment != step::Segment::temporaries)
        continue;
      ids.push_back(id);
      add(buffer.bytes, buffer.intervals);
    }
    for (const ScratchBuffer &scratch : buffers.scratch())
      add(scratch.bytes, {scratch.interval});

    if (!problemFile.empty() && failed(writeProblem(problem)))
      return failure();
    solver::OffsetPackingOptions options;
    if (quick)
      options.nodes =
          quickVisits / std::max<int64_t>(1, int64_t(problem.buffers.size()));
    solver::OffsetPackingSolution solution =
        solver::solveOffsetPacking(problem, options);
    if (solution.status != solver::OffsetPackingStatus::Solved)
      return getOperation().emitError()
             << "packing the temporaries failed: " << solution.message;
    for (auto [index, id] : llvm::enumerate(ids))
      offsets[id] = solution.offsets[index];
    for (auto [index, scratch] : llvm::enumerate(buffers.scratch()))
      scratch.group->setAttr(
          step::scratchPlaceAttrName,
          step::PlaceAttr::get(&getContext(), step::Segment::temporaries,
                               solution.offsets[ids.size() + index]));
    bytesOf(step::Segment::temporaries) = solution.arena;
    remark::analysis(
        getOperation().getLoc(),
        remark::RemarkOpts::name("Arena").category("memory-plan-offsets"))
        << remark::metric("Buffers", problem.buffers.size())
        << remark::metric("ArenaBytes", solution.arena)
        << remark::metric("LowerBoundBytes", solution.certificate.bound);
    getOperation()->getParentOp()->setAttr(
        step::temporariesBoundAttrName,
        Builder(&getContext()).getI64IntegerAttr(solution.certificate.bound));
    return success();
  }

  LogicalResult writeProblem(const solver::OffsetPackingProblem &problem) {
    std::error_code error;
    llvm::raw_fd_ostream file(problemFile, error);
    auto fail = [&] {
      return getOperation().emitError()
             << "cannot write '" << problemFile << "': " << error.message();
    };
    if (error)
      return fail();
    // A buffer with several windows is written as its hull with the windows
    // between as gaps.
    file << "id,lower,upper,size,alignment,gaps\n";
    for (auto [index, buffer] : llvm::enumerate(problem.buffers)) {
      file << 'b' << index << ',' << buffer.windows.front().begin << ','
           << buffer.windows.back().end << ',' << buffer.size << ','
           << buffer.alignment << ',';
      for (size_t i = 1; i < buffer.windows.size(); ++i)
        file << (i > 1 ? " " : "") << buffer.windows[i - 1].end << '-'
             << buffer.windows[i].begin;
      file << '\n';
    }
    file.close();
    error = file.error();
    file.clear_error();
    return error ? LogicalResult(fail()) : success();
  }

  step::PlaceAttr placeOf(const BufferClasses &buffers, BufferClasses::Id id) {
    id = buffers.representative(id);
    auto offset = offsets.find(id);
    assert(offset != offsets.end() && "buffer without an offset");
    return step::PlaceAttr::get(&getContext(), buffers[id].segment,
                                offset->second);
  }

  void writePlaces(const BufferClasses &buffers) {
    func::FuncOp function = getOperation();
    Builder builder(&getContext());
    auto places = [&](ValueRange values) {
      SmallVector<Attribute> result;
      for (Value value : values)
        result.push_back(placeOf(buffers, buffers.classOf(value)));
      return builder.getArrayAttr(result);
    };
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op->getNumResults())
        op->setAttr(step::placesAttrName, places(op->getResults()));
      return isa<step::GroupOp>(op) ? WalkResult::skip()
                                    : WalkResult::advance();
    });
    Block &body = function.getBody().front();
    function->setAttr(step::argumentPlacesAttrName,
                      places(body.getArguments()));
    SmallVector<Attribute> results;
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      results.push_back(placeOf(buffers, buffers.resultClass(index)));
    function->setAttr(step::resultPlacesAttrName,
                      builder.getArrayAttr(results));
    SmallVector<NamedAttribute> bytes;
    for (step::Segment segment :
         {step::Segment::state, step::Segment::batch, step::Segment::results,
          step::Segment::temporaries, step::Segment::constants})
      bytes.push_back(
          builder.getNamedAttr(step::stringifySegment(segment),
                               builder.getI64IntegerAttr(bytesOf(segment))));
    function->getParentOp()->setAttr(step::segmentBytesAttrName,
                                     builder.getDictionaryAttr(bytes));
  }

  llvm::DenseMap<BufferClasses::Id, int64_t> offsets; // of representatives
  std::array<int64_t, 5> segmentBytes{};
};

} // namespace
