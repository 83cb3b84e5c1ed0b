//===- FoldedControl.cpp - Loops and branches of ranks --------------------===//
//
// Which values of the devices' loop the values that a rank's loop carries are
// is not known. All carried values, of every device and rank, begin in classes
// by what they start from; the bodies are followed with one unknown per class,
// and values that become different things part, until none do. Those in one
// class are equal in every round.
//
//===----------------------------------------------------------------------===//

#include "FoldingChecker.h"

#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;
using namespace tenon::shardingcheck::folding;

bool FoldingChecker::visitBranches(Program &program, Operation *op,
                                   Block *twin) {
  PerMember decides = of(program, op->getOperand(0));
  if (!areEqual(decides))
    return fail(op->getLoc(), "'" + op->getName().getStringRef() +
                                  "' decides by a value that differs");
  std::vector<std::vector<Terms::Key>> keys(
      op->getNumResults(),
      std::vector<Terms::Key>(program.members(),
                              {branchKey, wordOf(op->getName()), decides[0]}));
  for (Region &region : op->getRegions()) {
    // Loops in branches have no twins.
    if (region.walk([](stablehlo::WhileOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      return fail(op->getLoc(), "'" + op->getName().getStringRef() +
                                    "' has a loop in it, which is not "
                                    "followed");
    if (!visitBlock(program, region.front(), twin))
      return false;
    for (auto [at, value] :
         llvm::enumerate(region.front().getTerminator()->getOperands()))
      for (auto [key, term] : llvm::zip_equal(keys[at], of(program, value)))
        key.push_back(term);
  }
  for (auto [value, ofMembers] : llvm::zip_equal(op->getResults(), keys)) {
    PerMember results;
    for (Terms::Key &key : ofMembers)
      results.push_back(terms.computed(std::move(key), value.getType()));
    program.terms[value] = std::move(results);
  }
  return true;
}

namespace {

/// The values that loops carry, in classes of those not known to differ.
class Carried {
public:
  explicit Carried(Terms &terms, uint64_t &unknowns)
      : terms(terms), unknowns(unknowns) {}

  void add(Program &program, stablehlo::WhileOp loop) {
    for (unsigned at = 0; at < loop->getNumOperands(); ++at)
      for (size_t member = 0; member < program.members(); ++member) {
        items.push_back({&program, loop, at, member});
        classes.push_back({program.terms.lookup(loop->getOperand(at))[member]});
      }
  }

  /// Gives the arguments of the loops one unknown per class.
  void setArguments() {
    if (numbers.empty())
      renumber();
    std::vector<std::optional<Term>> ofClass(count);
    for (auto [item, number] : llvm::zip_equal(items, numbers)) {
      auto [program, loop, at, member] = item;
      if (!ofClass[number])
        ofClass[number] = terms.computed({unknownKey, unknowns++},
                                         loop->getOperand(at).getType());
      for (Region *region : {&loop->getRegion(0), &loop->getRegion(1)}) {
        PerMember &held = program->terms[region->getArgument(at)];
        held.resize(program->members());
        held[member] = *ofClass[number];
      }
    }
  }

  /// Parts classes by what values become in a round; says whether any was.
  bool part() {
    for (auto [item, key] : llvm::zip_equal(items, classes)) {
      auto [program, loop, at, member] = item;
      Operation *end = loop.getBody().front().getTerminator();
      key.push_back(program->terms.lookup(end->getOperand(at))[member]);
    }
    const size_t before = count;
    renumber();
    return count != before;
  }

  size_t numberOf(size_t item) const { return numbers[item]; }
  size_t size() const { return items.size(); }
  size_t classCount() const { return count; }

private:
  struct Item {
    Program *program;
    stablehlo::WhileOp loop;
    unsigned at;
    size_t member;
  };

  void renumber() {
    std::map<std::vector<uint64_t>, size_t> found;
    numbers.clear();
    for (std::vector<uint64_t> &key : classes)
      numbers.push_back(found.try_emplace(key, found.size()).first->second);
    count = found.size();
    for (auto [key, number] : llvm::zip_equal(classes, numbers))
      key = {number};
  }

  Terms &terms;
  uint64_t &unknowns;
  std::vector<Item> items;
  std::vector<std::vector<uint64_t>> classes;
  std::vector<size_t> numbers;
  size_t count = 0;
};

} // namespace

bool FoldingChecker::visitLoopOfDevices(stablehlo::WhileOp loop) {
  Carried carried(terms, unknowns);
  carried.add(devices, loop);
  do {
    carried.setArguments();
    for (Region &region : loop->getRegions())
      if (!visitBlock(devices, region.front(), nullptr))
        return false;
    if (!areEqual(
            of(devices, loop.getCond().front().getTerminator()->getOperand(0))))
      return fail(loop.getLoc(),
                  "the loop does not end for all devices at once");
  } while (carried.part());
  FollowedLoop followed{loop, {}};
  const uint64_t number = unknowns++;
  for (unsigned at = 0; at < loop->getNumResults(); ++at) {
    PerMember results;
    for (size_t member = 0; member < devices.members(); ++member)
      results.push_back(terms.computed(
          {loopKey, number, carried.numberOf(at * devices.members() + member)},
          loop->getResult(at).getType()));
    devices.terms[loop->getResult(at)] = results;
    followed.results.push_back(std::move(results));
  }
  loops[loop->getBlock()].push_back(std::move(followed));
  return true;
}

bool FoldingChecker::visitLoopOfRanks(stablehlo::WhileOp loop, Block *twin) {
  for (size_t at = 0; twin && at < loops[twin].size(); ++at) {
    FollowedLoop candidate = loops[twin][at];
    if (isLoop(loop, candidate))
      return true;
    fault.reset();
  }
  return fail(loop.getLoc(), "the loop is none of the devices");
}

bool FoldingChecker::isLoop(stablehlo::WhileOp loop, FollowedLoop &candidate) {
  stablehlo::WhileOp twin = candidate.loop;
  Carried carried(terms, unknowns);
  carried.add(devices, twin);
  const size_t ofDevices = carried.size();
  carried.add(ranks, loop);
  do {
    carried.setArguments();
    for (auto [ofTwin, region] :
         llvm::zip_equal(twin->getRegions(), loop->getRegions()))
      if (!visitBlock(devices, ofTwin.front(), nullptr) ||
          !visitBlock(ranks, region.front(), &ofTwin.front()))
        return false;
    PerMember goOn =
        of(devices, twin.getCond().front().getTerminator()->getOperand(0));
    llvm::append_range(
        goOn, of(ranks, loop.getCond().front().getTerminator()->getOperand(0)));
    if (!areEqual(goOn))
      return false;
  } while (carried.part());
  std::vector<std::optional<Term>> ofClass(carried.classCount());
  for (size_t item = 0; item < ofDevices; ++item)
    ofClass[carried.numberOf(item)] =
        candidate.results[item / devices.members()][item % devices.members()];
  for (unsigned at = 0; at < loop->getNumResults(); ++at) {
    PerMember results;
    for (size_t member = 0; member < ranks.members(); ++member) {
      auto term =
          ofClass[carried.numberOf(ofDevices + at * ranks.members() + member)];
      if (!term)
        return false;
      results.push_back(*term);
    }
    ranks.terms[loop->getResult(at)] = std::move(results);
  }
  return true;
}
