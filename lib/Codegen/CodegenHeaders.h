//===- CodegenHeaders.h - What nearly every file of Codegen includes -----===//
//
// Beside what all code with MLIR has: the dialects that kernels are written in.
// The operations of NVVM alone take as long to read as everything else that a
// file of Codegen/GPU is compiled from.
//
//===----------------------------------------------------------------------===//

#include "../PrecompiledHeader.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
