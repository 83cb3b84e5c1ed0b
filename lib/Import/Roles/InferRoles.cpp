//===- InferRoles.cpp - What every argument is ----------------------------===//
//
// Reads the signature of @main, decides succession, names and roles with the
// algorithms of this folder, and writes the `step` attributes that every later
// stage reads instead of guessing again.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Import/RoleWords.h"
#include "tenon/Import/RolesFile.h"
#include "tenon/Import/Succession.h"
#include "tenon/Import/TensorNames.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::importer {
#define GEN_PASS_DEF_INFERROLESPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using llvm::formatv;
using tenon::step::Role;

namespace {

constexpr StringLiteral category = "import-infer-roles";

/// The name an exporter put on a location: the outermost NameLoc.
std::string nameOfLocation(Location location) {
  std::string name;
  location->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner)) {
      name = named.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return name;
}

class InferRoles
    : public tenon::importer::impl::InferRolesPassBase<InferRoles> {
public:
  using InferRolesPassBase::InferRolesPassBase;

  void runOnOperation() override {
    main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main) {
      getOperation().emitError("found no function @main, expected the step");
      return signalPassFailure();
    }
    readSignature();
    if (failed(readStatements()))
      return signalPassFailure();
    succession = decideSuccession(arguments, results);
    if (!succession.undecided.empty()) {
      ask();
      return signalPassFailure();
    }
    names = nameTensors(arguments, results, succession);
    decideRoles();
    if (failed(checkStatements()) || failed(renameResults()))
      return signalPassFailure();
    writeAttributes();
  }

private:
  void readSignature() {
    for (auto [index, argument] : llvm::enumerate(main.getArguments())) {
      std::string path = nameOfLocation(argument.getLoc());
      if (path.empty())
        if (auto info =
                main.getArgAttrOfType<StringAttr>(index, "jax.arg_info"))
          path = info.str();
      ArgumentLeaf &leaf = arguments.emplace_back();
      leaf.path = parseTensorPath(path);
      leaf.type = argument.getType();
      leaf.donated = main.getArgAttr(index, "tf.aliasing_output") ||
                     main.getArgAttr(index, "jax.buffer_donor");
      argumentPaths.push_back(std::move(path));
    }
    for (auto [index, type] : llvm::enumerate(main.getResultTypes())) {
      ResultLeaf &leaf = results.emplace_back();
      leaf.type = type;
      std::string path;
      if (auto info =
              main.getResultAttrOfType<StringAttr>(index, "jax.result_info"))
        path = info.str();
      leaf.path = parseTensorPath(path);
      resultPaths.push_back(std::move(path));
    }
    statements.resize(arguments.size());
  }

  /// What the roles file calls an argument: `arg<i>`, its full path, its name,
  /// or the name that the result which replaces it would give it.
  std::optional<int64_t> findArgument(const RolesEntry &entry) {
    StringRef name = entry.argument;
    uint64_t index;
    if (StringRef digits = name; digits.consume_front("arg") &&
                                 !digits.getAsInteger(10, index) &&
                                 index < arguments.size())
      return index;
    std::optional<int64_t> found;
    auto consider = [&](int64_t candidate) {
      found = found && *found != candidate ? -1 : candidate;
    };
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      ArrayRef<PathKey> keys = argument.path;
      if (keys.empty())
        continue;
      if (name == argumentPaths[i])
        return i;
      if (name == joinKeys(keys) ||
          (keys.size() > 1 && name == joinKeys(keys.drop_front())))
        consider(i);
    }
    return found && *found < 0 ? std::nullopt : found;
  }

  LogicalResult readStatements() {
    if (roles.empty())
      return success();
    llvm::Expected<std::vector<RolesEntry>> entries = readRolesFile(roles);
    if (!entries)
      return main.emitError(llvm::toString(entries.takeError()));
    for (RolesEntry &entry : *entries) {
      std::optional<int64_t> index = findArgument(entry);
      if (!index)
        return main.emitError()
               << "roles file '" << roles << "' names '" << entry.argument
               << "', found no such argument of @main; expected arg0 to arg"
               << arguments.size() - 1 << ", a full path, or a name";
      if (statements[*index])
        return main.emitError()
               << "roles file '" << roles << "' names argument " << *index
               << " twice, as '" << statements[*index]->argument << "' and '"
               << entry.argument << "'";
      if (failed(checkStatement(entry, *index)))
        return failure();
      ArgumentLeaf &leaf = arguments[*index];
      leaf.stated = entry.result;
      leaf.excluded = entry.role && !tenon::step::isState(*entry.role);
      statements[*index] = std::move(entry);
    }
    return success();
  }

  LogicalResult checkStatement(const RolesEntry &entry, int64_t index) {
    if (!entry.result)
      return success();
    if (entry.role && !tenon::step::isState(*entry.role))
      return main.emitError()
             << "roles file '" << roles << "' gives '" << entry.argument
             << "' the role " << tenon::step::stringifyRole(*entry.role)
             << " and a result; only state has a result that replaces it";
    if (*entry.result >= int64_t(results.size()))
      return main.emitError()
             << "roles file '" << roles << "' replaces '" << entry.argument
             << "' by result " << *entry.result << ", @main has "
             << results.size() << " results";
    if (results[*entry.result].type != arguments[index].type)
      return main.emitError()
             << "roles file '" << roles << "' replaces '" << entry.argument
             << "' of type " << arguments[index].type << " by result "
             << *entry.result << " of type " << results[*entry.result].type
             << ", expected equal types";
    for (auto [other, statement] : llvm::enumerate(statements))
      if (statement && statement->result == entry.result)
        return main.emitError()
               << "roles file '" << roles << "' replaces both '"
               << statement->argument << "' and '" << entry.argument
               << "' by result " << *entry.result;
    return success();
  }

  /// State that the file states must have been found somewhere.
  LogicalResult checkStatements() {
    for (auto [index, statement] : llvm::enumerate(statements))
      if (statement && statement->role &&
          tenon::step::isState(*statement->role) &&
          !succession.ofArgument[index])
        return main.emitError()
               << "roles file '" << roles << "' gives '" << statement->argument
               << "' the role " << tenon::step::stringifyRole(*statement->role)
               << ", but no result is known to replace it; add \"result\" to "
                  "the entry, or make it batch or hyper_parameter";
    return success();
  }

  /// The result that `text` means: its number, `result<i>`, its full path or
  /// its name.
  std::optional<int64_t> findResult(StringRef text) {
    uint64_t number;
    StringRef digits = text;
    digits.consume_front("result");
    if (!digits.getAsInteger(10, number) && number < results.size())
      return number;
    for (auto [index, path] : llvm::enumerate(resultPaths))
      if (text == path)
        return index;
    auto named = llvm::find(names.ofResult, text.str());
    if (named == names.ofResult.end())
      return std::nullopt;
    return named - names.ofResult.begin();
  }

  /// Gives results the names that the user chose.
  LogicalResult renameResults() {
    std::vector<bool> isState(results.size()), isRenamed(results.size());
    for (const std::optional<Successor> &successor : succession.ofArgument)
      if (successor)
        isState[successor->result] = true;
    // Looked up by the names before any of them changes.
    SmallVector<std::pair<int64_t, std::string>> changes;
    for (const std::string &text : resultNames) {
      auto [what, name] = StringRef(text).rsplit('=');
      std::optional<int64_t> index = findResult(what);
      if (!index)
        return main.emitError()
               << "there is no result '" << what << "' to be named '" << name
               << "', @main has " << results.size()
               << " results, numbered from 0";
      if (isState[*index])
        return main.emitError()
               << "result " << *index << " cannot be named '" << name
               << "': it is the state '" << names.ofResult[*index]
               << "' of the next step, whose name is in saved files";
      if (isRenamed[*index])
        return main.emitError()
               << "result " << *index << " is given two names, the second is '"
               << name << "'";
      isRenamed[*index] = true;
      changes.emplace_back(*index, name.str());
    }
    for (auto &[index, name] : changes)
      names.ofResult[index] = name;
    for (auto &[index, name] : changes)
      if (std::optional<std::string> other = otherOfName(index, name))
        return main.emitError() << "result " << index << " cannot be named '"
                                << name << "': " << *other << " has that name";
    return success();
  }

  /// What besides a result is found by a name, if anything is.
  std::optional<std::string> otherOfName(int64_t result, StringRef name) {
    for (auto [index, other] : llvm::enumerate(names.ofArgument))
      if (name == other || name == argumentPaths[index] ||
          name == formatv("arg{0}", index).str())
        return formatv("argument {0}", index).str();
    for (auto [index, other] : llvm::enumerate(names.ofResult))
      if (int64_t(index) != result &&
          (name == other || name == resultPaths[index] ||
           name == formatv("result{0}", index).str()))
        return formatv("result {0}", index).str();
    return std::nullopt;
  }

  std::string describeResult(int64_t index) {
    return resultPaths[index].empty()
               ? formatv("result {0}", index).str()
               : formatv("result {0} {1}", index, resultPaths[index]).str();
  }

  /// The question that settles succession.
  void ask() {
    InFlightDiagnostic error =
        main.emitError() << "cannot tell which results replace "
                         << succession.undecided.size() << " of "
                         << arguments.size()
                         << " arguments in the next step: " << succession.reason
                         << "; pass --roles=FILE.json with \"result\" for each "
                            "of them, or export "
                            "the text with locations";
    std::vector<bool> taken(results.size());
    for (const std::optional<Successor> &successor : succession.ofArgument)
      if (successor)
        taken[successor->result] = true;
    size_t shown = 0;
    for (int64_t index : succession.undecided) {
      if (++shown > 20) {
        error.attachNote(main.getLoc())
            << "and " << succession.undecided.size() - 20 << " more";
        break;
      }
      Diagnostic &note = error.attachNote(main.getArgument(index).getLoc());
      note << "arg" << index;
      if (!argumentPaths[index].empty())
        note << " " << argumentPaths[index];
      note << " of type " << arguments[index].type;
      size_t candidates = 0;
      for (auto [result, leaf] : llvm::enumerate(results)) {
        if (taken[result] || leaf.type != arguments[index].type)
          continue;
        if (++candidates > 4) {
          note << ", ...";
          break;
        }
        note << (candidates == 1 ? " could be replaced by " : " or ")
             << describeResult(result);
      }
      if (!candidates)
        note << " has no result of its type";
    }
  }

  std::string describeEvidence(const Successor &successor) {
    switch (successor.evidence) {
    case SuccessionEvidence::statement:
      return formatv("the roles file names result {0}", successor.result);
    case SuccessionEvidence::names:
      return formatv("result {0} has its path", successor.result);
    case SuccessionEvidence::position:
      return formatv("result {0} has its position", successor.result);
    }
    return {};
  }

  void decideRoles() {
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      const std::optional<Successor> &successor = succession.ofArgument[index];
      auto type = cast<ShapedType>(argument.type);
      RoleGuess guess;
      if (successor) {
        const ResultLeaf &result = results[successor->result];
        // Both names speak: `step(params, opt_state, x)` names a whole argument
        // what its result `result[0]['w']` does not say.
        SmallVector<PathKey> keys(argument.path.begin(), argument.path.end());
        if (!result.path.empty())
          append_range(keys, withoutResultRoot(result.path));
        guess = roleOfState(keys, type);
        guess.reason = describeEvidence(*successor) + ", " + guess.reason;
      } else {
        guess = roleOfInput(argument.path, type);
        guess.reason = "no result replaces it, " + guess.reason;
      }
      if (statements[index] && statements[index]->role) {
        guess.role = *statements[index]->role;
        guess.reason = successor ? describeEvidence(*successor) + ", " : "";
        guess.reason += "the roles file says so";
      } else if (guess.role == Role::unknown) {
        remark::missed(main.getArgument(index).getLoc(),
                       remark::RemarkOpts::name("unknown-role")
                           .category(category)
                           .function("main"))
            << remark::add("'{0}' is carried from step to step; its name does "
                           "not say what it is",
                           names.ofArgument[index])
            << remark::suggest("state its role with --roles=FILE.json");
      }
      guesses.push_back(std::move(guess));
    }
    int64_t carried = llvm::count_if(
        succession.ofArgument, [](const auto &s) { return s.has_value(); });
    remark::analysis(main.getLoc(), remark::RemarkOpts::name("succession")
                                        .category(category)
                                        .function("main"))
        << remark::add("{0} of {1} arguments are carried from step to step",
                       carried, arguments.size());
    bool anyName = llvm::any_of(
        arguments, [](const auto &argument) { return !argument.path.empty(); });
    if (!carried && !anyName && !arguments.empty() && results.size() > 1)
      main.emitWarning()
          << "no argument is carried from step to step: none is donated and "
             "the "
             "text has no names; donate the state, export with locations, or "
             "pass --roles=FILE.json";
  }

  ArrayAttr aliases(Builder &builder, const std::string &path,
                    const std::string &positional, const std::string &name) {
    SmallVector<StringRef, 2> other;
    for (const std::string &text : {std::cref(path), std::cref(positional)})
      if (!text.empty() && text != name)
        other.push_back(text);
    return builder.getStrArrayAttr(other);
  }

  void writeAttributes() {
    Builder builder(&getContext());
    SmallVector<DictionaryAttr> ofArguments, ofResults;
    for (auto [index, guess] : llvm::enumerate(guesses)) {
      NamedAttrList list(main.getArgAttrDict(index));
      const std::optional<Successor> &successor = succession.ofArgument[index];
      const std::string &name = names.ofArgument[index];
      list.set(tenon::step::roleAttrName,
               tenon::step::RoleAttr::get(&getContext(), guess.role));
      list.set(tenon::step::roleReasonAttrName,
               builder.getStringAttr(guess.reason));
      list.set(tenon::step::nameAttrName, builder.getStringAttr(name));
      list.set(tenon::step::aliasesAttrName,
               aliases(builder, argumentPaths[index],
                       formatv("arg{0}", index).str(), name));
      list.erase(tenon::step::successorAttrName);
      if (successor)
        list.set(tenon::step::successorAttrName,
                 builder.getI64IntegerAttr(successor->result));
      list.erase(tenon::step::donatedAttrName);
      if (arguments[index].donated)
        list.set(tenon::step::donatedAttrName, builder.getUnitAttr());
      ofArguments.push_back(list.getDictionary(&getContext()));
    }
    for (auto [index, name] : llvm::enumerate(names.ofResult)) {
      // A second argument that takes the same result does not rename it.
      NamedAttrList list(main.getResultAttrDict(index));
      list.set(tenon::step::nameAttrName, builder.getStringAttr(name));
      list.set(tenon::step::aliasesAttrName,
               aliases(builder, resultPaths[index],
                       formatv("result{0}", index).str(), name));
      ofResults.push_back(list.getDictionary(&getContext()));
    }
    main.setAllArgAttrs(ofArguments);
    main.setAllResultAttrs(ofResults);
  }

  func::FuncOp main;
  SmallVector<ArgumentLeaf, 0> arguments;
  SmallVector<ResultLeaf, 0> results;
  std::vector<std::string> argumentPaths, resultPaths;
  std::vector<std::optional<RolesEntry>> statements;
  Succession succession;
  TensorNames names;
  std::vector<RoleGuess> guesses;
};

} // namespace
