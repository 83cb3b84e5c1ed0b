//===- Passes.td - Codegen/CPU: kernels become object code ----------------===//
//
// Lowering as a pass, for looking at one kernel. The compiler itself lowers many
// modules at once, see CompileObjects.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_PASSES_TD
#define TENON_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToLLVMPass : Pass<"codegen-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "lower emitted kernels to the LLVM dialect";
  let description = [{
    Vectors, loops and memrefs become LLVM operations, memrefs bare pointers.
    Around each function that names a symbol comes the C function the runtime
    calls, which loads the pointers and passes on the part. What would become a
    call into a library or depends on the compiler's mood is refused; conversions
    to bf16 without the instruction get the function that they call. Where
    subnormal numbers are flushed, functions say so, and LLVM computes constants
    as the processor would.

    ```mlir
    // options: cpu=x86-64-v3
    // before
    func.func private @k.body(%x: memref<16xf32>, %part: index, %parts: index) attributes {codegen.symbol = "k"} {
      return
    }
    // after
    llvm.func internal @k.body(%x: !llvm.ptr, %part: i64, %parts: i64) attributes {denormal_fp_math = "preserve-sign,preserve-sign", no_unwind, sym_visibility = "private"} {
      llvm.return
    }
    llvm.func @k(%arguments: !llvm.ptr, %part: i64, %parts: i64) {
      %0 = llvm.getelementptr %arguments[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      llvm.call @k.body(%1, %part, %parts) : (!llvm.ptr, i64, i64) -> ()
      llvm.return
    }
    ```
  }];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"\"",
           "the feature set, as in a file; there is no default">,
    Option<"subnormals", "subnormals", "std::string", "\"flush\"",
           "what kernels do with subnormal numbers: flush or keep">,
  ];
}

#endif // TENON_CODEGEN_CPU_PASSES_TD
