//===- AttributeText.cpp - Text of meshes and shardings -------------------===//
//
// Parsers and printers of the sdy attributes. Each prints only what follows its
// mnemonic, so that the same function serves `#sdy.sharding<@m, [{}]>` on its
// own, `<@m, [{}]>` in an operation and in a list of shardings.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Shardy/Shardy.h"

using namespace mlir;
using namespace tenon::sdy;

/// One nested attribute of a known kind.
template <typename Attr>
static ParseResult parseNested(AsmParser &parser, Attr &attribute) {
  attribute = dyn_cast_or_null<Attr>(Attr::parse(parser, {}));
  return failure(!attribute);
}

template <typename Attr>
static ParseResult parseList(AsmParser &parser, AsmParser::Delimiter delimiter,
                             SmallVectorImpl<Attr> &attributes) {
  return parser.parseCommaSeparatedList(delimiter, [&] {
    return parseNested(parser, attributes.emplace_back());
  });
}

template <typename Attr>
static void printList(AsmPrinter &printer, ArrayRef<Attr> attributes) {
  llvm::interleaveComma(attributes, printer,
                        [&](Attr attribute) { attribute.print(printer); });
}

static void printQuoted(AsmPrinter &printer, StringRef text) {
  printer.printString(text);
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  std::string name;
  int64_t size;
  if (parser.parseString(&name) || parser.parseEqual() ||
      parser.parseInteger(size))
    return {};
  return MeshAxisAttr::getChecked([&] { return parser.emitError(location); },
                                  parser.getContext(), StringRef(name), size);
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printQuoted(printer, getName());
  printer << "=" << getSize();
}

/// Whether the ids are 0, 1, 2, ..., which a mesh with axes does not list.
static bool isCounting(ArrayRef<int64_t> ids) {
  for (auto [i, id] : llvm::enumerate(ids))
    if (id != int64_t(i))
      return false;
  return true;
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> ids;
  if (parser.parseLess() ||
      parseList(parser, AsmParser::Delimiter::Square, axes))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
         return parser.parseInteger(ids.emplace_back());
       })))
    return {};
  if (parser.parseGreater())
    return {};
  auto mesh = MeshAttr::getChecked(
      [&] { return parser.emitError(location); }, parser.getContext(),
      ArrayRef<MeshAxisAttr>(axes), ArrayRef<int64_t>(ids));
  if (mesh && !axes.empty() && isCounting(ids))
    return MeshAttr::get(parser.getContext(), axes, {});
  return mesh;
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printList(printer, getAxes());
  printer << "]";
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << "]";
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

Attribute SubAxisInfoAttr::parse(AsmParser &parser, Type) {
  int64_t preSize, size;
  if (parser.parseLParen() || parser.parseInteger(preSize) ||
      parser.parseRParen() || parser.parseInteger(size))
    return {};
  return get(parser.getContext(), preSize, size);
}

void SubAxisInfoAttr::print(AsmPrinter &printer) const {
  printer << "(" << getPreSize() << ")" << getSize();
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  std::string name;
  SubAxisInfoAttr part;
  if (parser.parseString(&name) ||
      (succeeded(parser.parseOptionalColon()) && parseNested(parser, part)))
    return {};
  return get(parser.getContext(), name, part);
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printQuoted(printer, getName());
  if (getSubAxisInfo()) {
    printer << ":";
    getSubAxisInfo().print(printer);
  }
}

static ParseResult parseAxes(AsmParser &parser,
                             SmallVectorImpl<AxisRefAttr> &axes) {
  return parseList(parser, AsmParser::Delimiter::Braces, axes);
}

static void printAxes(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes) {
  printer << "{";
  printList(printer, axes);
  printer << "}";
}

Attribute AxisRefListAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  if (parseAxes(parser, axes))
    return {};
  return get(parser.getContext(), axes);
}

void AxisRefListAttr::print(AsmPrinter &printer) const {
  printAxes(printer, getValue());
}

Attribute ListOfAxisRefListsAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefListAttr> lists;
  if (parseList(parser, AsmParser::Delimiter::Square, lists))
    return {};
  return get(parser.getContext(), lists);
}

void ListOfAxisRefListsAttr::print(AsmPrinter &printer) const {
  printer << "[";
  printList(printer, getValue());
  printer << "]";
}

Attribute ManualAxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Braces, [&]() -> ParseResult {
            std::string name;
            if (parser.parseString(&name))
              return failure();
            names.push_back(StringAttr::get(parser.getContext(), name));
            return success();
          }))
    return {};
  return get(parser.getContext(), names);
}

void ManualAxesAttr::print(AsmPrinter &printer) const {
  printer << "{";
  llvm::interleaveComma(getValue(), printer, [&](StringAttr name) {
    printQuoted(printer, name.getValue());
  });
  printer << "}";
}

Attribute AllToAllParamAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  int64_t source, target;
  if (parseAxes(parser, axes) || parser.parseColon() ||
      parser.parseInteger(source) || parser.parseArrow() ||
      parser.parseInteger(target))
    return {};
  return get(parser.getContext(), axes, source, target);
}

void AllToAllParamAttr::print(AsmPrinter &printer) const {
  printAxes(printer, getAxes());
  printer << ": " << getSrcDim() << "->" << getTgtDim();
}

Attribute AllToAllParamListAttr::parse(AsmParser &parser, Type) {
  SmallVector<AllToAllParamAttr> params;
  if (parseList(parser, AsmParser::Delimiter::Square, params))
    return {};
  return get(parser.getContext(), params);
}

void AllToAllParamListAttr::print(AsmPrinter &printer) const {
  printer << "[";
  printList(printer, getValue());
  printer << "]";
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// `p3` after the closing brace.
static ParseResult parsePriority(AsmParser &parser,
                                 std::optional<int64_t> &priority) {
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    return success();
  int64_t value;
  if (!word.consume_front("p") || word.getAsInteger(10, value))
    return parser.emitError(location)
           << "found '" << word
           << "', expected a priority such as 'p1' that fits in 64 bits";
  priority = value;
  return success();
}

Attribute DimensionShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  std::optional<int64_t> priority;
  if (parser.parseLBrace())
    return {};
  if (failed(parser.parseOptionalRBrace())) {
    do {
      if (succeeded(parser.parseOptionalQuestion())) {
        isClosed = false;
        break;
      }
      if (parseNested(parser, axes.emplace_back()))
        return {};
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRBrace())
      return {};
  }
  if (parsePriority(parser, priority))
    return {};
  return get(parser.getContext(), axes, isClosed, priority);
}

void DimensionShardingAttr::print(AsmPrinter &printer) const {
  printer << "{";
  printList(printer, getAxes());
  if (!getIsClosed())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << "}";
  if (getPriority())
    printer << "p" << *getPriority();
}

/// `mesh<...>` or a symbol.
static ParseResult parseMeshOrRef(AsmParser &parser, Attribute &meshOrRef) {
  if (succeeded(parser.parseOptionalKeyword("mesh"))) {
    MeshAttr mesh;
    if (parseNested(parser, mesh))
      return failure();
    meshOrRef = mesh;
    return success();
  }
  StringAttr symbol;
  if (parser.parseSymbolName(symbol))
    return failure();
  meshOrRef = FlatSymbolRefAttr::get(symbol);
  return success();
}

Attribute TensorShardingAttr::parse(AsmParser &parser, Type) {
  Attribute meshOrRef;
  SmallVector<DimensionShardingAttr> dimensions;
  if (parser.parseLess() || parseMeshOrRef(parser, meshOrRef) ||
      parser.parseComma() ||
      parseList(parser, AsmParser::Delimiter::Square, dimensions))
    return {};
  SmallVector<AxisRefAttr> replicated, unreduced;
  ReductionOp reduction = ReductionOp::SUM;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc memberLocation = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return {};
    bool isReplicated = name == "replicated";
    if (!isReplicated && name != "unreduced") {
      parser.emitError(memberLocation)
          << "unknown member '" << name
          << "', expected 'replicated' or 'unreduced'";
      return {};
    }
    SmallVector<AxisRefAttr> &axes = isReplicated ? replicated : unreduced;
    if (!axes.empty()) {
      parser.emitError(memberLocation) << "'" << name << "' is given twice";
      return {};
    }
    StringRef word;
    if (!isReplicated && succeeded(parser.parseOptionalKeyword(&word))) {
      std::optional<ReductionOp> kind = symbolizeReductionOp(word);
      if (!kind) {
        parser.emitError(memberLocation) << "found reduction '" << word
                                         << "', expected 'sum', 'max' or 'min'";
        return {};
      }
      reduction = *kind;
    }
    SMLoc axesLocation = parser.getCurrentLocation();
    if (parseAxes(parser, axes))
      return {};
    if (axes.empty()) {
      parser.emitError(axesLocation)
          << "'" << name << "' lists no axes; leave it out";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), meshOrRef, dimensions, replicated, unreduced,
             reduction);
}

void TensorShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (auto mesh = dyn_cast<MeshAttr>(getMeshOrRef())) {
    printer << "mesh";
    mesh.print(printer);
  } else {
    printer.printAttribute(getMeshOrRef());
  }
  printer << ", [";
  printList(printer, getDimShardings());
  printer << "]";
  if (!getReplicatedAxes().empty()) {
    printer << ", replicated=";
    printAxes(printer, getReplicatedAxes());
  }
  if (!getUnreducedAxes().empty()) {
    printer << ", unreduced=";
    if (getReductionOp() != ReductionOp::SUM)
      printer << stringifyReductionOp(getReductionOp());
    printAxes(printer, getUnreducedAxes());
  }
  printer << ">";
}

Attribute TensorShardingPerValueAttr::parse(AsmParser &parser, Type) {
  SmallVector<TensorShardingAttr> shardings;
  if (parser.parseLess() ||
      parseList(parser, AsmParser::Delimiter::Square, shardings) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), shardings);
}

void TensorShardingPerValueAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printList(printer, getShardings());
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// Records of propagation
//===----------------------------------------------------------------------===//

Attribute EdgeValueRefAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return {};
  std::optional<EdgeNodeType> type = symbolizeEdgeNodeType(word);
  if (!type) {
    parser.emitError(location)
        << "found '" << word << "', expected 'operand' or 'result'";
    return {};
  }
  // The dash and the digits are one negative number to the lexer.
  SMLoc numberLocation = parser.getCurrentLocation();
  int64_t negated;
  if (parser.parseInteger(negated))
    return {};
  if (negated > 0 || negated == std::numeric_limits<int64_t>::min()) {
    parser.emitError(numberLocation)
        << "found " << negated << ", expected '-' and a number";
    return {};
  }
  return get(parser.getContext(), *type, -negated);
}

static void printEdgeValue(AsmPrinter &printer, EdgeValueRefAttr value) {
  printer << stringifyEdgeNodeType(value.getType()) << "-" << value.getIndex();
}

void EdgeValueRefAttr::print(AsmPrinter &printer) const {
  // On its own the mnemonic stands directly before.
  printer << " ";
  printEdgeValue(printer, *this);
}

Attribute AxisToPropagationDetailsAttr::parse(AsmParser &parser, Type) {
  AxisRefAttr axis;
  EdgeValueRefAttr source;
  SmallVector<EdgeValueRefAttr> targets;
  if (parser.parseLBrace() || parseNested(parser, axis) ||
      parser.parseEqual() || parseNested(parser, source) ||
      parser.parseArrow() ||
      parseList(parser, AsmParser::Delimiter::Square, targets) ||
      parser.parseRBrace())
    return {};
  return get(parser.getContext(), axis, source, targets);
}

void AxisToPropagationDetailsAttr::print(AsmPrinter &printer) const {
  printer << "{";
  getAxisName().print(printer);
  printer << " = ";
  printEdgeValue(printer, getSource());
  printer << " -> [";
  llvm::interleaveComma(getTargets(), printer, [&](EdgeValueRefAttr target) {
    printEdgeValue(printer, target);
  });
  printer << "]}";
}

Attribute PropagationOneStepAttr::parse(AsmParser &parser, Type) {
  int64_t negated;
  SmallVector<AxisToPropagationDetailsAttr> entries;
  if (parser.parseLBrace() || parser.parseKeyword("step"))
    return {};
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseInteger(negated))
    return {};
  if (negated > 0 || negated == std::numeric_limits<int64_t>::min()) {
    parser.emitError(location)
        << "found " << negated << ", expected '-' and a number";
    return {};
  }
  if (parser.parseEqual() ||
      parseList(parser, AsmParser::Delimiter::Square, entries) ||
      parser.parseRBrace())
    return {};
  return get(parser.getContext(), -negated, entries);
}

void PropagationOneStepAttr::print(AsmPrinter &printer) const {
  printer << "{step-" << getStepIndex() << " = [";
  printList(printer, getAxisEntries());
  printer << "]}";
}

Attribute PropagationEdgesAttr::parse(AsmParser &parser, Type) {
  SmallVector<PropagationOneStepAttr> steps;
  if (parser.parseLess() ||
      parseList(parser, AsmParser::Delimiter::Square, steps) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), steps);
}

void PropagationEdgesAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printList(printer, getValue());
  printer << "]>";
}
