//===- BatchOptions.cpp - What the command line says of batches -----------===//
//
// See BatchOptions.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/BatchOptions.h"

using namespace tenon;
using namespace tenon::tool;

static constexpr std::pair<std::string_view, ElementType> tokenTypes[] = {
    {"uint8", ElementType::ui8},   {"uint16", ElementType::ui16},
    {"uint32", ElementType::ui32}, {"int32", ElementType::i32},
    {"int64", ElementType::i64},
};

void BatchOptions::takePath(std::string_view text) {
  constexpr std::string_view stepsPrefix = "steps:", samplesPrefix = "samples:";
  isSteps = text.starts_with(stepsPrefix);
  isSamples = text.starts_with(samplesPrefix);
  text.remove_prefix(isSteps     ? stepsPrefix.size()
                     : isSamples ? samplesPrefix.size()
                                 : 0);
  path = text;
}

void BatchOptions::take(ArgumentParser &parser) {
  parser.custom("batches", "PATH",
                "files of whole batches; samples:PATH for files of samples",
                [this](std::string_view text) -> std::string {
                  takePath(text);
                  return path.empty() ? "expected a file or a folder" : "";
                });
  std::vector<std::string> types;
  for (auto [name, type] : tokenTypes)
    types.emplace_back(name);
  parser.custom(
      "tokens", "TYPE",
      "the files are lists of tokens of this type, such as uint16",
      [this](std::string_view text) -> std::string {
        std::string known;
        for (auto [name, type] : tokenTypes) {
          if (name == text)
            tokenType = type;
          known += (known.empty() ? "" : ", ") + std::string(name);
        }
        return tokenType ? "" : "expected one of " + known;
      },
      types);
  parser.custom("map", "FILE_NAME=ARGUMENT",
                "what a tensor of the batches is to the step",
                [this](std::string_view text) -> std::string {
                  size_t equals = text.find('=');
                  if (equals == std::string_view::npos || equals == 0 ||
                      equals + 1 == text.size())
                    return "expected a name in the files and one of the step, "
                           "such as images=x";
                  return names.emplace(text.substr(0, equals),
                                       text.substr(equals + 1))
                                 .second
                             ? ""
                             : "the name is given twice";
                });
  parser.choice("remainder", refusesRemainder, "drop", "error",
                "samples that fill no batch at the end (drop)");
  parser.custom("shuffle", "SEED",
                "take samples, or steps, in another order every epoch",
                [this](std::string_view text) -> std::string {
                  shuffle = parseNumber<uint64_t>(text);
                  return shuffle ? "" : "expected a number from 0 to 2^64 - 1";
                });
  parser.custom("epochs", "N",
                "end after N times all batches, counted over all resumed runs",
                [this](std::string_view text) -> std::string {
                  epochs = parseNumber(text).value_or(0);
                  return epochs < 1 ? "expected a number from 1 on" : "";
                });
  parser.custom("readers", "N", "threads that read batches (2)",
                [this](std::string_view text) -> std::string {
                  readers = parseNumber(text).value_or(0);
                  return readers < 1 || readers > 64
                             ? "expected a number from 1 to 64"
                             : "";
                });
}

std::string BatchOptions::whyContradictory() const {
  if (path.empty() && (tokenType || !names.empty() || refusesRemainder ||
                       shuffle || epochs > 0))
    return std::string(tokenType          ? "--tokens"
                       : !names.empty()   ? "--map"
                       : refusesRemainder ? "--remainder"
                       : shuffle          ? "--shuffle"
                                          : "--epochs") +
           " is about batches, give --batches";
  if (tokenType && isSteps)
    return "a list of tokens has samples and no steps, give "
           "--batches=samples:" +
           path;
  if (refusesRemainder && !isSamples && !tokenType)
    return "--remainder is about samples, give --batches=samples:" + path;
  return "";
}
