//===- TensorNames.cpp - Canonical names of arguments and results --------===//
//
// Every tensor has three candidates: short, long (with the index or the first
// key), and positional. All start with the short one; those that clash move on
// together until none do. A result without a name starts with the positional
// one and may turn out to be the loss.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/TensorNames.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>

using namespace llvm;

namespace tenon::importer {
namespace {

/// A thing to name: a state pair, an input, or a result that is no state.
struct Subject {
  std::optional<int64_t> argument, result;
  std::array<std::string, 3> candidates;
  size_t level = 0;
  bool clashes = false;

  const std::string &name() const { return candidates[level]; }
};

void nameByResult(Subject &subject, const ResultLeaf &result) {
  ArrayRef<PathKey> keys = withoutResultRoot(result.path);
  subject.candidates[1] = joinKeys(keys);
  if (!keys.empty() && keys.front().isIndex)
    keys = keys.drop_front();
  subject.candidates[0] = joinKeys(keys);
}

/// Whether a path says where a result is but not what it is.
bool isNameless(const ResultLeaf &result) {
  return llvm::all_of(withoutResultRoot(result.path),
                      [](const PathKey &key) { return key.isIndex; });
}

bool isFloatingScalar(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         mlir::isa<mlir::FloatType>(tensor.getElementType());
}

/// The result that is the loss because nothing else can be: without a name, and
/// the only floating scalar of those that are no state.
std::optional<size_t> findLoss(ArrayRef<ResultLeaf> results,
                               const std::vector<bool> &isState) {
  std::optional<size_t> found;
  for (auto [index, result] : enumerate(results)) {
    if (isState[index] || !isFloatingScalar(result.type))
      continue;
    if (found)
      return std::nullopt;
    found = index;
  }
  return found && isNameless(results[*found]) ? found : std::nullopt;
}

void nameByArgument(Subject &subject, const ArgumentLeaf &argument) {
  ArrayRef<PathKey> keys = argument.path;
  subject.candidates[1] = joinKeys(keys);
  subject.candidates[0] = joinKeys(keys.size() > 1 ? keys.drop_front() : keys);
}

/// Marks every subject whose name is empty, or taken twice in the namespace
/// that `side` selects.
void markClashes(MutableArrayRef<Subject> subjects,
                 std::optional<int64_t> Subject::*side) {
  StringMap<SmallVector<Subject *, 2>> holders;
  for (Subject &subject : subjects)
    if (subject.*side)
      holders[subject.name()].push_back(&subject);
  for (auto &entry : holders)
    if (entry.getKey().empty() || entry.getValue().size() > 1)
      for (Subject *subject : entry.getValue())
        subject->clashes = true;
}

/// Moves every subject that clashes to its next candidate. True when one moved.
bool resolveClashes(MutableArrayRef<Subject> subjects) {
  markClashes(subjects, &Subject::argument);
  markClashes(subjects, &Subject::result);
  bool moved = false;
  for (Subject &subject : subjects) {
    if (subject.clashes && subject.level + 1 < subject.candidates.size()) {
      ++subject.level;
      moved = true;
    }
    subject.clashes = false;
  }
  return moved;
}

} // namespace

TensorNames nameTensors(ArrayRef<ArgumentLeaf> arguments,
                        ArrayRef<ResultLeaf> results,
                        const Succession &succession) {
  std::vector<Subject> subjects;
  std::vector<bool> named(results.size(), false);
  for (auto [index, argument] : enumerate(arguments)) {
    Subject &subject = subjects.emplace_back();
    subject.argument = index;
    subject.candidates[2] = formatv("arg{0}", index);
    const std::optional<Successor> &successor = succession.ofArgument[index];
    if (!successor) {
      nameByArgument(subject, argument);
      continue;
    }
    // Two arguments may be stated to take the same result; the first names it.
    if (!named[successor->result])
      subject.result = successor->result;
    named[successor->result] = true;
    if (results[successor->result].path.empty())
      nameByArgument(subject, argument);
    else
      nameByResult(subject, results[successor->result]);
  }
  for (auto [index, result] : enumerate(results)) {
    if (named[index])
      continue;
    Subject &subject = subjects.emplace_back();
    subject.result = index;
    subject.candidates[2] = formatv("result{0}", index);
    if (isNameless(result))
      subject.level = 2;
    else
      nameByResult(subject, result);
  }

  while (resolveClashes(subjects))
    ;

  TensorNames names;
  names.ofArgument.resize(arguments.size());
  names.ofResult.resize(results.size());
  for (const Subject &subject : subjects) {
    if (subject.argument)
      names.ofArgument[*subject.argument] = subject.name();
    if (subject.result)
      names.ofResult[*subject.result] = subject.name();
  }
  // Only now: what is called so by its user keeps the name.
  constexpr StringLiteral loss = "loss";
  if (std::optional<size_t> result = findLoss(results, named);
      result && !is_contained(names.ofArgument, loss) &&
      !is_contained(names.ofResult, loss))
    names.ofResult[*result] = loss.str();
  return names;
}

} // namespace tenon::importer
