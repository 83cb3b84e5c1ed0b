//===- ShardingRuleText.cpp - Text of sharding rules ----------------------===//
//
// `([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}`. A factor has a
// letter, i to z for the first eighteen, then z_1, z_2 and so on. The factors
// of one dimension stand together without separators: `ij`, `zz_1`, `z_8z_9`.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Shardy/Shardy.h"

using namespace mlir;
using namespace tenon::sdy;

static constexpr int64_t letterCount = 'z' - 'i' + 1;

/// The symbol of a factor.
static std::string factorSymbol(int64_t factor) {
  if (factor < letterCount)
    return std::string(1, char('i' + factor));
  return "z_" + std::to_string(factor - letterCount + 1);
}

/// Takes one factor off the front of `text`; nothing if there is none.
static std::optional<int64_t> takeFactor(StringRef &text) {
  if (text.empty() || text.front() < 'i' || text.front() > 'z')
    return std::nullopt;
  int64_t factor = text.front() - 'i';
  text = text.drop_front();
  if (factor != letterCount - 1 || !text.consume_front("_"))
    return factor;
  // More factors than a tensor of any use has: keeps the index in range.
  int64_t number;
  if (text.consumeInteger(10, number) || number < 1 || number > 1'000'000)
    return std::nullopt;
  return letterCount - 1 + number;
}

static ParseResult parseFactors(AsmParser &parser,
                                SmallVectorImpl<int64_t> &factors) {
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  for (StringRef rest = word; !rest.empty();) {
    std::optional<int64_t> factor = takeFactor(rest);
    if (!factor)
      return parser.emitError(location)
             << "found '" << word
             << "', expected factors written i to z, z_1, z_2, ...";
    factors.push_back(*factor);
  }
  return success();
}

/// One factor.
static ParseResult parseFactor(AsmParser &parser, int64_t &factor) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<int64_t> factors;
  if (parseFactors(parser, factors))
    return failure();
  if (factors.size() != 1)
    return parser.emitError(location)
           << "found " << factors.size() << " factors, expected 1";
  factor = factors[0];
  return success();
}

static void printFactors(AsmPrinter &printer, ArrayRef<int64_t> factors,
                         StringRef separator) {
  llvm::interleave(
      factors, printer,
      [&](int64_t factor) { printer << factorSymbol(factor); }, separator);
}

//===----------------------------------------------------------------------===//
// Mappings
//===----------------------------------------------------------------------===//

Attribute DimMappingAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> factors;
  if (failed(parser.parseOptionalStar()) && parseFactors(parser, factors))
    return {};
  return get(parser.getContext(), factors);
}

void DimMappingAttr::print(AsmPrinter &printer) const {
  // On its own the mnemonic stands directly before, so a space is needed;
  // inside a mapping TensorMappingAttr prints the factors itself.
  printer << " ";
  if (getFactorIndices().empty())
    printer << "*";
  printFactors(printer, getFactorIndices(), "");
}

Attribute TensorMappingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimMappingAttr> dimensions;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        dimensions.push_back(dyn_cast_or_null<DimMappingAttr>(
            DimMappingAttr::parse(parser, {})));
        return failure(!dimensions.back());
      }))
    return {};
  return get(parser.getContext(), dimensions);
}

void TensorMappingAttr::print(AsmPrinter &printer) const {
  printer << "[";
  llvm::interleaveComma(getDimMappings(), printer, [&](DimMappingAttr mapping) {
    if (mapping.getFactorIndices().empty())
      printer << "*";
    printFactors(printer, mapping.getFactorIndices(), "");
  });
  printer << "]";
}

static ParseResult parseMappings(AsmParser &parser,
                                 SmallVectorImpl<TensorMappingAttr> &mappings) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    mappings.push_back(dyn_cast_or_null<TensorMappingAttr>(
        TensorMappingAttr::parse(parser, {})));
    return failure(!mappings.back());
  });
}

static void printMappings(AsmPrinter &printer,
                          ArrayRef<TensorMappingAttr> mappings) {
  printer << "(";
  llvm::interleaveComma(mappings, printer, [&](TensorMappingAttr mapping) {
    mapping.print(printer);
  });
  printer << ")";
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// `{i=8, j=16}`, every factor in turn; may be missing.
static ParseResult parseFactorSizes(AsmParser &parser,
                                    SmallVectorImpl<int64_t> &sizes) {
  if (failed(parser.parseOptionalLBrace()))
    return success();
  do {
    SMLoc location = parser.getCurrentLocation();
    int64_t factor;
    if (parseFactor(parser, factor))
      return failure();
    if (factor != int64_t(sizes.size()))
      return parser.emitError(location)
             << "found factor '" << factorSymbol(factor) << "', expected '"
             << factorSymbol(sizes.size()) << "', the next in order";
    if (parser.parseEqual() || parser.parseInteger(sizes.emplace_back()))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRBrace();
}

/// `name={i, j}`, if it is there.
static ParseResult parseFactorGroup(AsmParser &parser, StringRef name,
                                    SmallVectorImpl<int64_t> &factors) {
  if (failed(parser.parseOptionalKeyword(name)))
    return success();
  return failure(
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
        return parseFactor(parser, factors.emplace_back());
      }));
}

static void printFactorGroup(AsmPrinter &printer, StringRef name,
                             ArrayRef<int64_t> factors) {
  if (factors.empty())
    return;
  printer << " " << name << "={";
  printFactors(printer, factors, ", ");
  printer << "}";
}

Attribute OpShardingRuleAttr::parse(AsmParser &parser, Type) {
  SmallVector<TensorMappingAttr> operands, results;
  SmallVector<int64_t> sizes, reduction, replication, permutation, blocked;
  bool isCustom = false;
  if (parser.parseLess() || parseMappings(parser, operands) ||
      parser.parseArrow() || parseMappings(parser, results) ||
      parseFactorSizes(parser, sizes) ||
      parseFactorGroup(parser, "reduction", reduction) ||
      parseFactorGroup(parser, "need_replication", replication) ||
      parseFactorGroup(parser, "permutation", permutation) ||
      parseFactorGroup(parser, "blocked_propagation", blocked))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("custom"))
      return {};
    isCustom = true;
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), sizes, operands, results, reduction,
             replication, permutation, blocked, isCustom);
}

void OpShardingRuleAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printMappings(printer, getOperandMappings());
  printer << "->";
  printMappings(printer, getResultMappings());
  if (!getFactorSizes().empty()) {
    printer << " {";
    llvm::interleaveComma(
        llvm::enumerate(getFactorSizes()), printer, [&](auto item) {
          printer << factorSymbol(item.index()) << "=" << item.value();
        });
    printer << "}";
  }
  printFactorGroup(printer, "reduction", getReductionFactors());
  printFactorGroup(printer, "need_replication", getNeedReplicationFactors());
  printFactorGroup(printer, "permutation", getPermutationFactors());
  printFactorGroup(printer, "blocked_propagation",
                   getBlockedPropagationFactors());
  if (getIsCustomRule())
    printer << ", custom";
  printer << ">";
}
