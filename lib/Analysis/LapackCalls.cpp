//===- LapackCalls.cpp - Custom calls that are LAPACK routines ------------===//
//
// See LapackCalls.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/LapackCalls.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::libraries;

/// The element type of a LAPACK name's first letter.
static std::optional<ElementType> typeOf(char letter) {
  switch (letter) {
  case 's':
    return ElementType::f32;
  case 'd':
    return ElementType::f64;
  case 'c':
    return ElementType::c64;
  case 'z':
    return ElementType::c128;
  default:
    return std::nullopt;
  }
}

/// Complex matrices have routines of other names that do the same.
static StringRef realName(StringRef routine) {
  if (routine == "ungqr")
    return "orgqr";
  return routine == "heevd" ? "syevd" : routine;
}

/// An option of the call, which JAX writes as the letter's number.
static char letterOf(stablehlo::CustomCallOp op, StringRef name) {
  Attribute config = op.getBackendConfig().value_or(Attribute());
  auto options = dyn_cast_if_present<DictionaryAttr>(config);
  if (!options)
    options = op->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto letter = options ? options.getAs<IntegerAttr>(name) : IntegerAttr();
  return letter ? char(letter.getValue().getZExtValue()) : ' ';
}

/// The operand whose matrices have the extents of the description: of trsm, the
/// right-hand side has the shape of the result.
static RankedTensorType matricesOf(stablehlo::CustomCallOp op,
                                   std::optional<LapackRoutine> routine) {
  unsigned at = routine == LapackRoutine::trsm ? 1 : 0;
  return op->getNumOperands() > at
             ? dyn_cast<RankedTensorType>(op->getOperand(at).getType())
             : RankedTensorType();
}

/// Whether a complex element is a last dimension of two parts.
static bool isSplit(RankedTensorType matrices, ElementType type) {
  return (type == ElementType::c64 || type == ElementType::c128) &&
         !isa<ComplexType>(matrices.getElementType());
}

/// Whether the factors of a decomposition without vectors, which nobody reads,
/// have the extents that mode S computes.
static bool hasThinFactors(stablehlo::CustomCallOp op,
                           const LapackDescription &d, bool hasParts) {
  if (op->getNumResults() < 4)
    return false;
  auto elements = [&](unsigned result) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(result).getType());
    return type ? type.getNumElements() / (hasParts ? 2 : 1) : 0;
  };
  int64_t k = std::min(d.rows, d.columns);
  return elements(2) == d.batch * d.rows * k &&
         elements(3) == d.batch * k * d.columns;
}

std::optional<LapackDescription>
tenon::describeLapack(stablehlo::CustomCallOp op, std::string &whyNot) {
  StringRef target = op.getCallTargetName();
  StringRef name = target;
  if (!name.consume_front("lapack_") || !name.consume_back("_ffi") ||
      name.size() < 2) {
    whyNot = ("no library runs custom calls @" + target).str();
    return std::nullopt;
  }
  auto type = typeOf(name.front());
  auto routine = fromName<LapackRoutine>(realName(name.drop_front()));
  RankedTensorType operand = matricesOf(op, routine);
  if (!type || !routine || !operand) {
    whyNot = ("the LAPACK routine @" + target + " is not offered").str();
    return std::nullopt;
  }
  LapackDescription description;
  description.routine = *routine;
  description.type = *type;
  ArrayRef<int64_t> shape = operand.getShape();
  const bool hasParts = isSplit(operand, *type);
  if (hasParts && !shape.empty())
    shape = shape.drop_back();
  if (shape.size() < 2) {
    whyNot = ("@" + target + " works on matrices").str();
    return std::nullopt;
  }
  description.rows = shape[shape.size() - 2];
  description.columns = shape.back();
  for (int64_t extent : shape.drop_back(2))
    description.batch *= extent;
  if (*routine == LapackRoutine::orgqr && op->getNumOperands() > 1) {
    auto scales = cast<RankedTensorType>(op->getOperand(1).getType());
    description.reflectors =
        scales.getDimSize(scales.getRank() - (hasParts ? 2 : 1));
  }
  description.triangle = letterOf(op, "uplo");
  description.side = letterOf(op, "side");
  description.transpose = letterOf(op, "trans_x");
  description.diagonal = letterOf(op, "diag");
  description.mode = letterOf(op, "mode");
  if (*routine == LapackRoutine::gesdd && description.mode == 'N' &&
      hasThinFactors(op, description, hasParts))
    description.mode = 'n';
  whyNot = libraries::whyInvalid(description);
  if (!whyNot.empty())
    return std::nullopt;
  return description;
}

int64_t tenon::sharedLapackDimensions(stablehlo::CustomCallOp op) {
  std::string ignored;
  std::optional<LapackDescription> description = describeLapack(op, ignored);
  if (!description)
    return 0;
  RankedTensorType matrices = matricesOf(op, description->routine);
  int64_t worked = 2 + isSplit(matrices, description->type);
  ArrayRef<int64_t> shared = matrices.getShape().drop_back(worked);
  auto hasThem = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getShape().take_front(shared.size()) == shared;
  };
  return llvm::all_of(op->getOperandTypes(), hasThem) &&
                 llvm::all_of(op->getResultTypes(), hasThem)
             ? int64_t(shared.size())
             : 0;
}
