//===- PlanOffsets.cpp - A place for every value -------------------------===//
//
// Turns buffer classes into offset-packing problems, solves them and writes the
// places into the IR. Segments of arguments, results and constants are laid out
// in order; only temporaries and what waits on the host are packed over time.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "PackingProblem.h"

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Memory/BufferClasses.h"

#include "mlir/IR/Remarks.h"

namespace tenon::memory {
#define GEN_PASS_DEF_PLANOFFSETSPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

int64_t pagesOf(int64_t bytes) {
  constexpr int64_t page = 4096;
  return (bytes + page - 1) / page;
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
    if (failed(packWaiting(buffers)) || failed(packTemporaries(buffers)))
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
      if (buffer.segment == step::Segment::temporaries ||
          buffer.segment == step::Segment::host)
        continue;
      int64_t &bytes = bytesOf(buffer.segment);
      offsets[id] = bytes;
      bytes += aligned(buffer.bytes);
    }
  }

  /// In memory of the host, of which a budget says nothing.
  LogicalResult packWaiting(const BufferClasses &buffers) {
    const PackingProblem packing(buffers, /*together=*/{}, step::Segment::host);
    if (packing.classes.empty())
      return success();
    solver::OffsetPackingSolution solution = packIntoSmallestArena(packing);
    if (solution.status != solver::OffsetPackingStatus::Solved)
      return getOperation().emitError()
             << "packing what waits on the host failed: " << solution.message;
    for (auto [index, id] : llvm::enumerate(packing.classes))
      offsets[id] = solution.offsets[index];
    bytesOf(step::Segment::host) = solution.arena;
    remark::analysis(
        getOperation().getLoc(),
        remark::RemarkOpts::name("Waiting").category("memory-plan-offsets"))
        << remark::metric("Buffers", packing.problem.buffers.size())
        << remark::metric("HostBytes", solution.arena);
    return success();
  }

  LogicalResult packTemporaries(const BufferClasses &buffers) {
    PackingProblem packing(buffers);
    solver::OffsetPackingProblem &problem = packing.problem;
    ArrayRef<BufferClasses::Id> ids = packing.classes;
    if (!problemFile.empty() && failed(writeProblem(problem)))
      return failure();
    solver::OffsetPackingSolution solution = packIntoSmallestArena(packing);
    if (solution.status != solver::OffsetPackingStatus::Solved)
      return getOperation().emitError()
             << "packing the temporaries failed: " << solution.message;
    if (limit >= 0)
      fitIntoLimit(packing, solution);
    if (together && !unsearched)
      keepRunsApart(buffers, solution);
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
    getOperation()->setAttr(
        step::temporariesBoundAttrName,
        Builder(&getContext()).getI64IntegerAttr(solution.certificate.bound));
    return success();
  }

  /// The smallest arena that was found. A process gets memory from the system
  /// in pages, so a long search is made only where it could save one, and where
  /// what it could save is worth more than the short one.
  solver::OffsetPackingSolution
  packIntoSmallestArena(const PackingProblem &packing) {
    solver::OffsetPackingOptions first = quickPacking(packing);
    if (unsearched)
      first.nodes = 0;
    solver::OffsetPackingSolution solution =
        solver::solveOffsetPacking(packing.problem, first);
    if (quick || unsearched || solution.status != solver::OffsetPackingStatus::Solved ||
        pagesOf(solution.arena) <= pagesOf(solution.certificate.bound))
      return solution;
    const solver::OffsetPackingOptions options =
        longPacking(packing, solution.arena, solution.certificate.bound);
    if (options.nodes <= quickPacking(packing).nodes)
      return solution;
    solver::OffsetPackingSolution longer =
        solver::solveOffsetPacking(packing.problem, options);
    return better(std::move(solution), std::move(longer));
  }

  /// Of two answers to one question the smaller arena, with what either search
  /// proved: that may be more than the bytes live at one moment.
  static solver::OffsetPackingSolution
  better(solver::OffsetPackingSolution first,
         solver::OffsetPackingSolution second) {
    solver::OffsetPackingCertificate certificate =
        std::max(first.certificate, second.certificate,
                 [](auto &a, auto &b) { return a.bound < b.bound; });
    bool isSecond = second.status == solver::OffsetPackingStatus::Solved &&
                    second.arena <= first.arena;
    solver::OffsetPackingSolution result = std::move(isSecond ? second : first);
    result.certificate = certificate;
    return result;
  }

  /// Asks for offsets within what the limit leaves for the temporaries, where
  /// the smallest arena that was found exceeds it although the bound does not.
  /// That is another question: with a capacity, all of the search goes into it,
  /// and the search by clauses takes part.
  void fitIntoLimit(PackingProblem &packing,
                    solver::OffsetPackingSolution &solution) {
    int64_t capacity = limit + bytesOf(step::Segment::host);
    for (int64_t bytes : segmentBytes)
      capacity -= bytes;
    if (solution.arena <= capacity || solution.certificate.bound > capacity)
      return;
    packing.problem.capacity = capacity;
    solver::OffsetPackingSolution fitting = solver::solveOffsetPacking(
        packing.problem, packingToCapacity(packing, quick));
    remark::analysis(
        getOperation().getLoc(),
        remark::RemarkOpts::name("Limit").category("memory-plan-offsets"))
        << remark::metric("CapacityBytes", capacity)
        << remark::metric("SmallestFoundBytes", solution.arena)
        << remark::metric("FittingBytes", fitting.arena);
    solution = better(std::move(solution), std::move(fitting));
  }

  /// Looks for offsets in an arena no larger, where no value takes the place of
  /// another one while a run is under way: a run is one launch then. Runs at
  /// moments when more than a part of the arena is needed are given up first.
  void keepRunsApart(const BufferClasses &buffers,
                     solver::OffsetPackingSolution &solution) {
    SmallVector<JointRun> runs = findJointRuns(getOperation());
    for (int64_t percent : {100, 98, 95, 90, 80}) {
      const PackingProblem apart(buffers, runs);
      llvm::erase_if(runs, [&](const JointRun &run) {
        return liveBytes(apart.problem, 2 * buffers.timeOf(run.first)) >
               solution.arena / 100 * percent;
      });
      if (runs.empty())
        return;
      const PackingProblem packing(buffers, runs);
      solver::OffsetPackingSolution found =
          solver::solveOffsetPacking(packing.problem, quickPacking(packing));
      if (found.status != solver::OffsetPackingStatus::Solved ||
          found.arena > solution.arena)
        continue;
      // What is proved is proved of the problem without runs.
      found.certificate = solution.certificate;
      solution = std::move(found);
      return;
    }
  }

  static int64_t liveBytes(const solver::OffsetPackingProblem &problem,
                           int64_t time) {
    int64_t bytes = 0;
    for (const auto &buffer : problem.buffers)
      if (llvm::any_of(buffer.windows, [&](const auto &window) {
            return window.begin <= time && time < window.end;
          }))
        bytes += buffer.size;
    return bytes;
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
          step::Segment::temporaries, step::Segment::constants,
          step::Segment::host})
      // Only some steps have anything wait.
      if (segment != step::Segment::host || bytesOf(segment) > 0)
        bytes.push_back(
            builder.getNamedAttr(step::stringifySegment(segment),
                                 builder.getI64IntegerAttr(bytesOf(segment))));
    function->setAttr(step::segmentBytesAttrName,
                      builder.getDictionaryAttr(bytes));
  }

  llvm::DenseMap<BufferClasses::Id, int64_t> offsets; // of representatives
  std::array<int64_t, step::getMaxEnumValForSegment() + 1> segmentBytes{};
};

} // namespace
