//===- OptionEntries.h - Options that are a field -------------------------===//
//
// Most options of a compilation are a field that a command may give, that is
// settled once, and that the text between stages records. Their entries follow
// from the fields: an option with a few values from the list of them, one with
// any text from the string itself.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_OPTIONENTRIES_H
#define TENON_LIB_DRIVER_OPTIONENTRIES_H

#include "tenon/Driver/Compiler.h"

#include "mlir/AsmParser/AsmParser.h"

namespace tenon::driver {

/// A value that an option may have, as a text records it, empty if a text says
/// nothing then, and as a command spells it.
template <typename T>
struct OptionValue {
  T value;
  llvm::StringLiteral recorded, spelled;

  mlir::Attribute attribute(mlir::MLIRContext *context) const {
    return recorded.empty() ? nullptr : mlir::parseAttribute(recorded, context);
  }
};

/// The entry of what a command gives in `given`, an std::optional or a flag,
/// and what `settled` finds among the settled options.
template <typename Given, typename Settled>
StageOption givenOption(llvm::StringRef flag, Given CompileOptions::*given,
                        Settled settled) {
  return {.flag = flag,
          .isGiven = [=](const CompileOptions &o) { return bool(o.*given); },
          .give =
              [=](const CompileOptions &options, ResolvedOptions &resolved) {
                if (!(options.*given))
                  return;
                if constexpr (std::is_same_v<Given, bool>)
                  settled(resolved) = true;
                else
                  settled(resolved) = *(options.*given);
              }};
}

/// Adds to an entry that a text records one of `values`. A text need not say
/// those that it may leave out.
template <typename T, typename Settled>
StageOption recordedAsOneOf(StageOption option, llvm::StringRef key,
                            llvm::StringRef expected, Settled settled,
                            std::vector<OptionValue<T>> values) {
  option.key = key;
  option.expected = expected;
  option.isRequired = llvm::none_of(
      values, [](const auto &each) { return each.recorded.empty(); });
  auto valueIn = [=](const ResolvedOptions &resolved) {
    return *llvm::find_if(values, [&](const auto &each) {
      return each.value == settled(resolved);
    });
  };
  option.read = [=](mlir::Attribute recorded, ResolvedOptions &resolved) {
    auto found = llvm::find_if(values, [&](const auto &each) {
      return each.attribute(recorded.getContext()) == recorded;
    });
    if (found != values.end())
      settled(resolved) = found->value;
    return found != values.end();
  };
  option.write = [=](const ResolvedOptions &resolved, mlir::Builder &builder) {
    return valueIn(resolved).attribute(builder.getContext());
  };
  option.spell = [=](const ResolvedOptions &resolved) {
    return valueIn(resolved).spelled.str();
  };
  return option;
}

/// An option whose string a text records as it is, and not if it is empty.
template <typename Settled>
StageOption textOption(llvm::StringRef flag, std::string CompileOptions::*given,
                       llvm::StringRef key, bool isRequired, Settled settled) {
  return {
      .flag = flag,
      .isGiven = [=](const CompileOptions &o) { return !(o.*given).empty(); },
      .key = key,
      .expected = "a string",
      .isRequired = isRequired,
      .read =
          [=](mlir::Attribute recorded, ResolvedOptions &resolved) {
            auto text = llvm::dyn_cast<mlir::StringAttr>(recorded);
            if (text)
              settled(resolved) = text.str();
            return bool(text);
          },
      .write = [=](const ResolvedOptions &resolved,
                   mlir::Builder &builder) -> mlir::Attribute {
        const std::string &text = settled(resolved);
        return text.empty() ? nullptr : builder.getStringAttr(text);
      }};
}

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_OPTIONENTRIES_H
