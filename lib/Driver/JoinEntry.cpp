//===- JoinEntry.cpp - A further entry point of a program -----------------===//
//
// See JoinEntry.h.
//
//===----------------------------------------------------------------------===//

#include "JoinEntry.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/EntryPoints.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Driver/Compiler.h"
#include "tenon/Format/Index.h"
#include "tenon/Import/RoleWords.h"
#include "tenon/Memory/BufferClasses.h"
#include "tenon/Support/Refuse.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

int64_t aligned(int64_t bytes) {
  return llvm::alignTo(bytes, memory::bufferAlignment);
}

/// Bytes of the entry point's own module, and where they are in the step's.
struct Moved {
  step::Segment from;
  int64_t begin, bytes;
  step::Segment to;
  int64_t offset;
};

/// State of the step, as users see it.
struct StateTensor {
  StringRef name;
  exec::TensorOp first; // the first part of what holds it
  Type type;
  std::optional<step::HeldPart> held; // that part; nothing if it is as it is
};

/// What an argument of an entry point is to the step.
struct StateMatch {
  const StateTensor *state = nullptr;    // null for none
  std::vector<std::string> alsoPossible; // where several would do
};

/// An argument of the entry point.
struct Argument {
  exec::TensorOp tensor;
  importer::TensorPath path;
  exec::TensorOp state;                  // that it is, or null
  std::vector<std::string> alsoPossible; // where several would do
};

/// The type that users see.
ShapedType typeOf(exec::TensorOp tensor) {
  auto type = cast<ShapedType>(tensor.getType());
  if (auto whole = tensor->getAttrOfType<TypeAttr>(step::wholeAttrName))
    type = cast<ShapedType>(whole.getValue());
  // What is held in another form is an f32.
  return step::heldPartOf(tensor->getAttrDictionary())
             ? type.clone(Float32Type::get(type.getContext()))
             : type;
}

std::vector<StateTensor> stateOf(ModuleOp step) {
  std::vector<StateTensor> states;
  for (auto tensor : step.getOps<exec::TensorOp>()) {
    auto held = step::heldPartOf(tensor->getAttrDictionary());
    if (int64_t(tensor.getArgument()) < 0 || tensor.getSegment() != "state" ||
        tensor.getName().starts_with(format::hiddenPrefix) ||
        (held && held->part > 0))
      continue;
    states.push_back({tensor.getName(), tensor, typeOf(tensor), held});
  }
  return states;
}

/// The step's tensor that is this part.
exec::TensorOp tensorOf(ModuleOp step, step::HeldPart part) {
  for (auto tensor : step.getOps<exec::TensorOp>())
    if (auto held = step::heldPartOf(tensor->getAttrDictionary());
        held && held->tensor == part.tensor && held->part == part.part)
      return tensor;
  llvm_unreachable("an argument is marked as what the step holds");
}

/// The path of an argument with this name: the first alias that says more than
/// its number, if there is one.
importer::TensorPath pathOf(StringRef name, ArrayAttr aliases, int64_t number) {
  if (aliases)
    for (auto alias : aliases.getAsRange<StringAttr>())
      if (alias.getValue() != "arg" + std::to_string(number))
        return importer::parseTensorPath(alias.str());
  return importer::parseTensorPath(name.str());
}

/// By its name, else by the one tensor of equal type whose name ends with it:
/// the whole path first, then the path without the function's own argument.
StateMatch findState(ArrayRef<StateTensor> states,
                     const importer::TensorPath &path, StringRef canonical,
                     Type type) {
  StateMatch match;
  std::string whole = importer::joinKeys(path);
  for (StringRef wanted : {StringRef(whole), canonical})
    for (const StateTensor &state : states)
      if (state.name == wanted) {
        match.state = &state;
        return match;
      }
  for (StringRef wanted : {StringRef(whole), canonical}) {
    std::vector<const StateTensor *> found;
    for (const StateTensor &state : states)
      if (state.name.ends_with(("." + wanted).str()) &&
          debugString(state.type) == debugString(type))
        found.push_back(&state);
    if (found.size() == 1) {
      match.state = found.front();
      return match;
    }
    for (const StateTensor *state : found)
      match.alsoPossible.push_back(state->name.str());
  }
  return match;
}

class Joiner {
public:
  Joiner(ModuleOp step, ModuleOp entry, StringRef name, JoinedEntry &joined,
         std::string &error)
      : step(step), entry(entry), name(name), joined(joined), error(error),
        builder(step.getContext()), symbols(step) {}

  bool run() {
    if (symbols.lookup(name))
      return refuse(error, "entry point '" + name.str() +
                               "': a part of the program has that name, give "
                               "it another");
    if (!collect() || !match())
      return false;
    moveArguments();
    moveResults();
    moveConstants();
    growTemporaries();
    moveCallees();
    moveProgram();
    summarize();
    return true;
  }

private:
  std::string called() const { return "entry point '" + name.str() + "'"; }

  step::Segment segmentNamed(StringRef segment) const {
    return *step::symbolizeSegment(segment);
  }
  exec::SegmentOp segmentOf(ModuleOp module, step::Segment segment) const {
    return module.lookupSymbol<exec::SegmentOp>(
        step::stringifySegment(segment));
  }

  bool collect();
  bool match();
  bool checkUnmatched(Argument &argument,
                      const std::set<std::string> &stateRoots);
  std::string candidatesFor(Argument &argument);
  /// Room for `bytes` at the end of a segment of the step.
  int64_t append(step::Segment segment, int64_t bytes);
  void addTensor(exec::TensorOp tensor, step::Segment segment, int64_t offset,
                 SmallVectorImpl<Attribute> &names);
  void moveArguments();
  void moveResults();
  void moveConstants();
  void growTemporaries();
  void moveCallees();
  void moveProgram();
  void summarize();
  std::pair<step::Segment, int64_t>
  placeOf(step::Segment segment, int64_t offset, int64_t bytes) const;

  ModuleOp step, entry;
  StringRef name;
  JoinedEntry &joined;
  std::string &error;
  OpBuilder builder;
  SymbolTable symbols; // of the step
  std::vector<StateTensor> states;
  std::vector<Argument> arguments;
  std::vector<exec::TensorOp> results; // in order
  std::vector<Moved> moves;
  SmallVector<Attribute> takes, gives;
  llvm::StringMap<StringAttr> renamed; // callees
};

bool Joiner::collect() {
  for (auto tensor : step.getOps<exec::TensorOp>())
    if (tensor.getName().starts_with((name + ".").str()))
      return refuse(error, called() + ": the step has a tensor '" +
                               tensor.getName().str() +
                               "', give the entry point another name");
  states = stateOf(step);
  if (entry.lookupSymbol("init"))
    return refuse(error, called() +
                             " would keep state of its own, which only a step "
                             "does; compile it without --precision");
  std::map<int64_t, exec::TensorOp> byNumber;
  for (auto tensor : entry.getOps<exec::TensorOp>()) {
    const bool isArgument = int64_t(tensor.getArgument()) >= 0;
    if (isArgument && int64_t(tensor.getResult()) >= 0)
      return refuse(error,
                    called() + " gives '" + tensor.getName().str() +
                        "' a new value, its result " +
                        std::to_string(int64_t(tensor.getResult())) +
                        "; entry points write no state, leave out that result");
    if (!isArgument) {
      byNumber[int64_t(tensor.getResult())] = tensor;
      continue;
    }
    Argument &argument = arguments.emplace_back(Argument{tensor, {}, {}, {}});
    argument.path =
        pathOf(tensor.getName(), tensor.getAliases().value_or(ArrayAttr()),
               int64_t(tensor.getArgument()));
  }
  for (auto &[number, tensor] : byNumber)
    results.push_back(tensor);
  return true;
}

/// The state that an argument may have been meant to be.
std::string Joiner::candidatesFor(Argument &argument) {
  std::vector<std::string> candidates = argument.alsoPossible;
  auto addWhere = [&](auto holds) {
    for (const StateTensor &state : states) {
      if (!llvm::is_contained(candidates, state.name) && holds(state))
        candidates.push_back(state.name.str());
    }
  };
  if (candidates.empty())
    addWhere([&](const StateTensor &state) {
      return state.type == typeOf(argument.tensor);
    });
  if (candidates.empty())
    addWhere([](const StateTensor &) { return true; });
  constexpr size_t most = 8;
  std::string list;
  for (size_t i = 0; i < std::min(candidates.size(), most); ++i)
    list += (i ? ", '" : "'") + candidates[i] + "'";
  return candidates.empty() ? "the step has no state"
                            : "candidates: " + list +
                                  (candidates.size() > most ? ", ..." : "");
}

/// What is a leaf of a tree that holds state has to be state, too. So has what
/// the words in its path say is.
bool Joiner::checkUnmatched(Argument &argument,
                            const std::set<std::string> &stateRoots) {
  if (argument.path.size() < 2)
    return true;
  ShapedType type = typeOf(argument.tensor);
  step::Role role = importer::roleOfState(argument.path, type).role;
  bool isNamedSo = llvm::is_contained(
      {step::Role::parameter, step::Role::optimizer_state, step::Role::buffer},
      role);
  if (!stateRoots.contains(argument.path.front().text) && !isNamedSo)
    return true;
  return refuse(error,
                called() + ": argument " +
                    std::to_string(int64_t(argument.tensor.getArgument())) +
                    ", '" + importer::joinKeys(argument.path) + "' of " +
                    debugString(type) +
                    ", is no state of the step by its name, nor by the "
                    "end of one name alone; " +
                    candidatesFor(argument));
}

bool Joiner::match() {
  std::set<std::string> stateRoots;
  llvm::DenseMap<Operation *, int64_t> taken;
  for (Argument &argument : arguments) {
    auto which = int64_t(argument.tensor.getArgument());
    if (auto held = step::heldPartOf(argument.tensor->getAttrDictionary())) {
      argument.state = tensorOf(step, *held);
    } else {
      Type type = typeOf(argument.tensor);
      StateMatch match =
          findState(states, argument.path, argument.tensor.getName(), type);
      argument.alsoPossible = std::move(match.alsoPossible);
      if (!match.state)
        continue;
      if (match.state->type != type)
        return refuse(error, called() + ": argument " + std::to_string(which) +
                                 ", '" + match.state->name.str() + "', is " +
                                 debugString(type) + ", the step has " +
                                 debugString(match.state->type));
      argument.state = match.state->first;
    }
    std::string state = argument.state.getName().str();
    auto [other, isNew] = taken.try_emplace(argument.state, which);
    if (!isNew)
      return refuse(error, called() + ": arguments " +
                               std::to_string(other->second) + " and " +
                               std::to_string(which) + " are both '" + state +
                               "' by their names");
    if (argument.path.size() > 1)
      stateRoots.insert(argument.path.front().text);
  }
  return llvm::all_of(arguments, [&](Argument &argument) {
    return argument.state || checkUnmatched(argument, stateRoots);
  });
}

int64_t Joiner::append(step::Segment segment, int64_t bytes) {
  exec::SegmentOp grown = segmentOf(step, segment);
  int64_t offset = aligned(int64_t(grown.getBytes()));
  grown.setBytes(uint64_t(offset + aligned(bytes)));
  return offset;
}

/// Declares a tensor of the entry point in the step.
void Joiner::addTensor(exec::TensorOp tensor, step::Segment segment,
                       int64_t offset, SmallVectorImpl<Attribute> &names) {
  std::string own = (name + "." + tensor.getName()).str();
  moves.push_back({segmentNamed(tensor.getSegment()),
                   int64_t(tensor.getOffset()), storedBytes(tensor.getType()),
                   segment, offset});
  SmallVector<Attribute> aliases{tensor.getNameAttr()};
  if (auto others = tensor.getAliases())
    llvm::append_range(aliases, *others);
  builder.setInsertionPoint(*step.getOps<exec::ProgramOp>().begin());
  auto added = exec::TensorOp::create(
      builder, tensor.getLoc(), builder.getStringAttr(own),
      tensor.getTypeAttr(),
      FlatSymbolRefAttr::get(builder.getContext(),
                             step::stringifySegment(segment)),
      builder.getI64IntegerAttr(offset), builder.getI64IntegerAttr(-1),
      builder.getI64IntegerAttr(-1), tensor.getRole().value_or(Attribute()),
      builder.getArrayAttr(aliases));
  added->setAttr(exec::entryPointAttrName, builder.getStringAttr(name));
  for (StringRef kept : {step::wholeAttrName, step::cutsAttrName})
    if (Attribute value = tensor->getAttr(kept))
      added->setAttr(kept, value);
  names.push_back(builder.getStringAttr(own));
}

void Joiner::moveArguments() {
  for (Argument &argument : arguments) {
    exec::TensorOp tensor = argument.tensor;
    int64_t bytes = storedBytes(tensor.getType());
    if (!argument.state) {
      addTensor(tensor, step::Segment::batch,
                append(step::Segment::batch, bytes), takes);
      continue;
    }
    moves.push_back({segmentNamed(tensor.getSegment()),
                     int64_t(tensor.getOffset()), bytes, step::Segment::state,
                     int64_t(argument.state.getOffset())});
    takes.push_back(argument.state.getNameAttr());
  }
}

void Joiner::moveResults() {
  for (exec::TensorOp tensor : results)
    addTensor(tensor, step::Segment::results,
              append(step::Segment::results, storedBytes(tensor.getType())),
              gives);
}

/// Constants that the step has already are not written twice.
void Joiner::moveConstants() {
  llvm::DenseMap<Attribute, int64_t> known;
  for (auto constant : step.getOps<exec::ConstantOp>())
    known.try_emplace(constant.getValue(), int64_t(constant.getOffset()));
  for (auto constant :
       llvm::make_early_inc_range(entry.getOps<exec::ConstantOp>())) {
    int64_t bytes = storedBytes(constant.getValue().getType());
    auto [at, isNew] = known.try_emplace(constant.getValue(), 0);
    if (isNew)
      at->second = append(step::Segment::constants, bytes);
    moves.push_back({step::Segment::constants, int64_t(constant.getOffset()),
                     bytes, step::Segment::constants, at->second});
    if (!isNew)
      continue;
    constant.setOffset(uint64_t(at->second));
    constant->moveBefore(*step.getOps<exec::ProgramOp>().begin());
  }
}

void Joiner::growTemporaries() {
  exec::SegmentOp all = segmentOf(step, step::Segment::temporaries);
  uint64_t own = segmentOf(entry, step::Segment::temporaries).getBytes();
  all.setBytes(std::max(all.getBytes(), own));
}

void Joiner::moveCallees() {
  for (Operation &op : llvm::make_early_inc_range(*entry.getBody())) {
    if (!isa<func::FuncOp, exec::LibraryOp, exec::CollectiveOp, exec::CopyOp>(
            op))
      continue;
    StringAttr before = SymbolTable::getSymbolName(&op);
    // One callee copies for all programs.
    if (isa<exec::CopyOp>(op) && symbols.lookup<exec::CopyOp>(before))
      continue;
    op.remove();
    Operation *first = *step.getOps<exec::ProgramOp>().begin();
    renamed[before.getValue()] = symbols.insert(&op, Block::iterator(first));
  }
}

std::pair<step::Segment, int64_t>
Joiner::placeOf(step::Segment segment, int64_t offset, int64_t bytes) const {
  if (segment == step::Segment::temporaries)
    return {segment, offset};
  for (const Moved &moved : moves)
    if (moved.from == segment && moved.begin <= offset &&
        offset + bytes <= moved.begin + moved.bytes)
      return {moved.to, moved.offset + offset - moved.begin};
  // Nothing lies outside of all tensors and constants but what has no bytes.
  assert(bytes == 0 && "an instruction names bytes that nobody declares");
  return {segment, 0};
}

void Joiner::moveProgram() {
  auto program = entry.lookupSymbol<exec::ProgramOp>("step");
  program->walk([&](Operation *op) {
    if (auto slice = dyn_cast<exec::SliceOp>(op)) {
      auto [segment, offset] =
          placeOf(segmentNamed(slice.getSegment()), int64_t(slice.getOffset()),
                  storedBytes(slice.getType()));
      slice.setSegment(step::stringifySegment(segment));
      slice.setOffset(uint64_t(offset));
    } else if (auto invoke = dyn_cast<exec::InvokeOp>(op)) {
      if (StringAttr now = renamed.lookup(invoke.getCallee()))
        invoke.setCallee(now.getValue());
    }
  });
  if (auto plan = program->getAttrOfType<DictionaryAttr>(exec::planAttrName)) {
    SmallVector<Attribute> buffers;
    for (auto buffer :
         plan.getAs<ArrayAttr>("buffers").getAsRange<DenseI64ArrayAttr>()) {
      auto [segment, offset] =
          placeOf(step::Segment(buffer[0]), buffer[1], buffer[2]);
      buffers.push_back(
          builder.getDenseI64ArrayAttr({int64_t(segment), offset, buffer[2]}));
    }
    NamedAttrList changed(plan);
    changed.set("buffers", builder.getArrayAttr(buffers));
    program->setAttr(exec::planAttrName,
                     changed.getDictionary(builder.getContext()));
  }
  program->setAttr(exec::takesAttrName, builder.getArrayAttr(takes));
  program->setAttr(exec::givesAttrName, builder.getArrayAttr(gives));
  if (auto flops = entry->getAttr(step::flopsAttrName))
    program->setAttr(step::flopsAttrName, flops);
  program->remove();
  program.setSymName(name);
  step.push_back(program);
}

void Joiner::summarize() {
  llvm::json::Object matched;
  llvm::json::Array inputs, made;
  std::string suffixes, inputNames, resultNames;
  for (Argument &argument : arguments) {
    StringRef own = argument.tensor.getName();
    if (!argument.state) {
      inputs.push_back((name + "." + own).str());
      inputNames += (inputNames.empty() ? "" : ", ") + (name + "." + own).str();
      continue;
    }
    std::string path = importer::joinKeys(argument.path);
    StringRef state = argument.state.getName();
    if (auto held = step::heldPartOf(argument.state->getAttrDictionary());
        held && held->part > 0)
      continue;
    matched[path] = state.str();
    if (state != own && state != path)
      suffixes += "\n           " + path + " is " + state.str();
  }
  for (Attribute result : gives) {
    made.push_back(cast<StringAttr>(result).str());
    resultNames +=
        (resultNames.empty() ? "" : ", ") + cast<StringAttr>(result).str();
  }
  joined.summary = llvm::formatv(
      "entry      {0} reads {1} tensors of the state; inputs: {2}; results: "
      "{3}{4}",
      name, matched.size(), inputNames.empty() ? "none" : inputNames,
      resultNames.empty() ? "none" : resultNames, suffixes);
  joined.report = llvm::json::Object{{"state", std::move(matched)},
                                     {"inputs", std::move(inputs)},
                                     {"results", std::move(made)}};
}

} // namespace

std::string driver::whyNoEntryName(StringRef name) {
  bool isWord =
      !name.empty() && !llvm::isDigit(name[0]) &&
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  return isWord && format::Index::isExtra(name.str())
             ? ""
             : "expected a name of letters, digits and '_' other than step "
               "and init";
}

SmallVector<exec::TensorOp> driver::stateArguments(ModuleOp step,
                                                   func::FuncOp entry) {
  std::vector<StateTensor> states = stateOf(step);
  SmallVector<exec::TensorOp> found(entry.getNumArguments());
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    if (auto held = step::heldPartOf(entry.getArgAttrDict(i))) {
      found[i] = tensorOf(step, *held);
      continue;
    }
    auto name = entry.getArgAttrOfType<StringAttr>(i, step::nameAttrName);
    if (!name)
      continue;
    auto aliases = entry.getArgAttrOfType<ArrayAttr>(i, step::aliasesAttrName);
    if (const StateTensor *state = findState(states, pathOf(name, aliases, i),
                                             name, entry.getArgumentTypes()[i])
                                       .state)
      found[i] = state->first;
  }
  return found;
}

void driver::markHeldState(ModuleOp step, func::FuncOp entry) {
  std::set<Operation *> marked;
  for (auto [i, state] : llvm::enumerate(stateArguments(step, entry))) {
    auto held =
        state ? step::heldPartOf(state->getAttrDictionary()) : std::nullopt;
    // Whoever joins the two says what is wrong with other types, and with two
    // arguments that are one tensor.
    if (!held ||
        debugString(typeOf(state)) !=
            debugString(entry.getArgumentTypes()[i]) ||
        !marked.insert(state).second)
      continue;
    entry.setArgAttr(unsigned(i), step::holdsAttrName,
                     step::holdsAttr(entry.getContext(), *held));
  }
}

bool driver::joinEntry(ModuleOp step, ModuleOp entry, StringRef name,
                       JoinedEntry &joined, std::string &error) {
  return Joiner(step, entry, name, joined, error).run();
}
