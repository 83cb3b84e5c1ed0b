//===- ReadStableHLO.cpp - Program text to a module -----------------------===//
//
// Text goes through the bounding scan, then through MLIR's parser with
// verification off, then through the checks that verifiers rely on, and only
// then through the verifiers.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/ReadStableHLO.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Check/Check.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace tenon::importer {

void registerInputDialects(DialectRegistry &registry) {
  registry
      .insert<check::CheckDialect, check::InterpreterDialect, chlo::CHLODialect,
              func::FuncDialect, quant::QuantDialect, sdy::SdyDialect,
              stablehlo::StableHLODialect, step::StepDialect>();
}

/// The line and column, from one, of a byte of the text.
static Location locate(MLIRContext &context, StringRef name, StringRef text,
                       size_t offset) {
  StringRef before = text.take_front(offset);
  size_t lineStart = before.rfind('\n');
  size_t column =
      lineStart == StringRef::npos ? offset : offset - lineStart - 1;
  return FileLineColLoc::get(&context, name,
                             static_cast<unsigned>(before.count('\n')) + 1,
                             static_cast<unsigned>(column) + 1);
}

/// Names the dialects that are read, for errors about others.
static std::string knownDialects(MLIRContext &context) {
  std::vector<StringRef> names = context.getAvailableDialects();
  llvm::sort(names);
  return llvm::join(names, ", ");
}

/// Reports operations that no dialect has, as errors or, if they are kept, as
/// remarks: all names, each at its first place.
static LogicalResult checkKnownOperations(ModuleOp module, bool keep) {
  llvm::MapVector<StringRef, std::pair<Operation *, int64_t>> unknown;
  module.walk([&](Operation *op) {
    if (op->isRegistered())
      return;
    auto &[first, count] = unknown[op->getName().getStringRef()];
    if (!count++)
      first = op;
  });
  for (auto &[name, use] : unknown) {
    if (keep) {
      remark::missed(
          use.first->getLoc(),
          remark::RemarkOpts::name("unknown").category("import-keep-unknown"))
          << remark::add("operation '{0}' is not understood; it is kept as it "
                         "is and taken to have effects",
                         name)
          << remark::metric("count", use.second);
      continue;
    }
    InFlightDiagnostic error = use.first->emitError()
                               << "unknown operation '" << name << "'";
    if (use.second > 1)
      error << ", used " << use.second << " times";
    error << "; the input language is " << knownDialects(*module.getContext());
  }
  return success(keep || unknown.empty());
}

/// Turns constants that are kept outside the text into ordinary ones.
static LogicalResult inlineResources(ModuleOp module) {
  WalkResult walk = module.walk([&](stablehlo::ConstantOp op) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
    if (!resource)
      return WalkResult::advance();
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob) {
      op.emitError("constant '")
          << resource.getRawHandle().getKey()
          << "' was left out when the text was written; export it without "
             "eliding large constants";
      return WalkResult::interrupt();
    }
    ShapedType type = resource.getType();
    ArrayRef<char> data = blob->getData();
    SmallVector<char> packed;
    if (type.getElementType().isInteger(1)) {
      // A resource keeps a byte per boolean, an attribute a bit.
      packed.resize(llvm::divideCeil(data.size(), 8));
      for (auto [index, byte] : llvm::enumerate(data))
        packed[index / 8] |= char(byte != 0) << (index % 8);
      if (int64_t(data.size()) != type.getNumElements())
        packed.clear();
      else
        data = packed;
    }
    bool splat = false;
    if (!DenseElementsAttr::isValidRawBuffer(type, data, splat)) {
      op.emitError("constant '")
          << resource.getRawHandle().getKey() << "' holds "
          << blob->getData().size() << " bytes, which is not what " << type
          << " takes";
      return WalkResult::interrupt();
    }
    op.setValueAttr(DenseElementsAttr::getFromRawBuffer(type, data));
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

static bool isStatic(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || shaped.hasStaticShape();
}

/// The place in a file that a location says, else `otherwise`: exporters give
/// arguments locations that are names and nothing more.
static Location placeOf(Location location, Location otherwise) {
  return location->findInstanceOf<FileLineColLoc>() ? location : otherwise;
}

LogicalResult checkStaticShapes(ModuleOp module, Location whole) {
  bool ok = true;
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    for (BlockArgument argument :
         main.isExternal() ? Block::BlockArgListType() : main.getArguments()) {
      if (isStatic(argument.getType()))
        continue;
      ok = false;
      InFlightDiagnostic error =
          emitError(placeOf(argument.getLoc(), placeOf(main.getLoc(), whole)));
      error << "argument " << argument.getArgNumber();
      if (auto name = dyn_cast<NameLoc>(argument.getLoc()))
        error << " '" << name.getName().getValue() << "'";
      error << " has the dynamic shape " << argument.getType()
            << ", expected static extents; export the step with concrete sizes";
    }
  if (!ok)
    return failure();
  WalkResult walk = module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (!isStatic(type)) {
        emitError(placeOf(op->getLoc(), whole))
            << "'" << op->getName() << "' has a result of the dynamic shape "
            << type << ", expected static extents";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Makes `text` the source to parse, within the limits.
static LogicalResult addBounded(llvm::SourceMgr &sources, StringRef text,
                                StringRef name, MLIRContext &context,
                                const TextLimits &limits) {
  auto whole = FileLineColLoc::get(&context, name, 1, 1);
  if (text.starts_with("ML\xefR"))
    return emitError(whole) << "holds bytecode; export the step as text, with "
                               "as_text()";
  // The parser would print the line, which is no text for people either.
  constexpr size_t beginning = 4096;
  if (text.take_front(beginning).contains('\0'))
    return emitError(whole)
           << "holds bytes that are no text, expected a module "
              "as StableHLO text, from as_text()";
  TextFault fault;
  auto buffer = boundedCopy(text, name, fault, limits);
  if (!buffer)
    return emitError(locate(context, name, text, fault.offset))
           << fault.message;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return success();
}

OwningOpRef<ModuleOp> readStableHLO(StringRef text, StringRef name,
                                    MLIRContext &context,
                                    const ReadOptions &options) {
  auto whole = FileLineColLoc::get(&context, name, 1, 1);
  llvm::SourceMgr sources;
  if (failed(addBounded(sources, text, name, context, options.limits)))
    return nullptr;
  bool allowed = context.allowsUnregisteredDialects();
  context.allowUnregisteredDialects(true);
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, config);
  context.allowUnregisteredDialects(allowed);
  if (!module || failed(checkKnownOperations(*module, options.keepUnknown)) ||
      (options.staticShapes && failed(checkStaticShapes(*module, whole))) ||
      failed(inlineResources(*module)) || failed(verify(*module)))
    return nullptr;
  return module;
}

/// Null after a diagnostic.
static std::unique_ptr<llvm::MemoryBuffer> openText(StringRef path,
                                                    MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (buffer)
    return std::move(*buffer);
  emitError(UnknownLoc::get(&context))
      << "cannot read '" << path << "': " << buffer.getError().message();
  return nullptr;
}

static StringRef nameOf(StringRef path) {
  return path == "-" ? StringRef("<stdin>") : path;
}

OwningOpRef<ModuleOp> readStableHLOFile(StringRef path, MLIRContext &context,
                                        const ReadOptions &options) {
  auto buffer = openText(path, context);
  if (!buffer)
    return nullptr;
  return readStableHLO(buffer->getBuffer(), nameOf(path), context, options);
}

OwningOpRef<ModuleOp> readFormFile(StringRef path, MLIRContext &context) {
  auto buffer = openText(path, context);
  llvm::SourceMgr sources;
  if (!buffer || failed(addBounded(sources, buffer->getBuffer(), nameOf(path),
                                   context, TextLimits())))
    return nullptr;
  return parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
}

} // namespace tenon::importer
