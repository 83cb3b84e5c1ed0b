// RUN: tenon-opt --codegen-lower-to-llvm=cpu=x86-64-v3 %s | FileCheck %s
// RUN: tenon-opt --codegen-lower-to-llvm=cpu=x86-64-v4+avx512bf16 %s | FileCheck %s --check-prefix=BF16
// RUN: tenon-opt --codegen-lower-to-llvm="cpu=x86-64-v3 subnormals=keep" %s | FileCheck %s --check-prefix=KEEP

// LLVM is told where subnormal numbers are flushed.
// KEEP-NOT: denormal_fp_math

// A kernel becomes an internal function on bare pointers that do not overlap,
// and a C function that unpacks the arguments.

// CHECK-LABEL: llvm.func internal @double.body
// CHECK-SAME: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: i64, %{{.*}}: i64
// CHECK-SAME: denormal_fp_math = "preserve-sign,preserve-sign"
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK-LABEL: llvm.func @double(
// CHECK-SAME: %[[ARGUMENTS:.*]]: !llvm.ptr, %[[PART:.*]]: i64, %[[PARTS:.*]]: i64)
// CHECK: %[[A0:.*]] = llvm.getelementptr %[[ARGUMENTS]][0]
// CHECK: %[[P0:.*]] = llvm.load %[[A0]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[A1:.*]] = llvm.getelementptr %[[ARGUMENTS]][1]
// CHECK: %[[P1:.*]] = llvm.load %[[A1]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call @double.body(%[[P0]], %[[P1]], %[[PART]], %[[PARTS]])
func.func private @double.body(
    %x: memref<64xf32> {llvm.align = 64 : i64, llvm.noalias},
    %y: memref<64xf32> {llvm.align = 64 : i64, llvm.noalias},
    %part: index, %parts: index) attributes {codegen.symbol = "double"} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c16 {
    %a = vector.load %x[%i] : memref<64xf32>, vector<16xf32>
    %b = arith.addf %a, %a : vector<16xf32>
    vector.store %b, %y[%i] : memref<64xf32>, vector<16xf32>
  }
  return
}

// Without the instruction, rounding to bf16 is integer arithmetic: a conversion
// left to LLVM would be a call.

// CHECK-LABEL: llvm.func internal @narrow.body
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.lshr {{.*}} : vector<16xi32>
// BF16-LABEL: llvm.func internal @narrow.body
// BF16: llvm.fptrunc {{.*}} : vector<16xf32> to vector<16xbf16>
func.func private @narrow.body(%x: memref<16xf32>, %y: memref<16xbf16>,
                               %part: index, %parts: index)
    attributes {codegen.symbol = "narrow"} {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
  %b = arith.truncf %a : vector<16xf32> to vector<16xbf16>
  vector.store %b, %y[%c0] : memref<16xbf16>, vector<16xbf16>
  return
}

// With the instruction, scalars of bf16 are moved as their bits, since the
// instruction makes zero of what is subnormal.

// BF16-LABEL: llvm.func internal @largest.body
// BF16: llvm.br ^[[HEAD:.*]](%{{.*}}, %{{.*}} : i64, i16)
// BF16: ^[[HEAD]](%{{.*}}: i64, %{{.*}}: i16):
// BF16: llvm.load %{{.*}} -> i16
// BF16: llvm.shl %{{.*}} : i32
// BF16-NOT: llvm.fpext
// BF16: llvm.select %{{.*}} : i1, i16
// BF16: llvm.store %{{.*}} : i16, !llvm.ptr
func.func private @largest.body(%x: memref<16xbf16>, %y: memref<1xbf16>,
                                %part: index, %parts: index)
    attributes {codegen.symbol = "largest"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %first = memref.load %x[%c0] : memref<16xbf16>
  %largest = scf.for %i = %c1 to %c16 step %c1 iter_args(%a = %first) -> bf16 {
    %b = memref.load %x[%i] : memref<16xbf16>
    %wideA = arith.extf %a : bf16 to f32
    %wideB = arith.extf %b : bf16 to f32
    %larger = arith.cmpf ogt, %wideB, %wideA : f32
    %c = arith.select %larger, %b, %a : bf16
    scf.yield %c : bf16
  }
  memref.store %largest, %y[%c0] : memref<1xbf16>
  return
}

// What LLVM itself converts on the way, such as a choice of scalars, calls a
// function of the compiler's runtime library, which is not there.

// CHECK: llvm.func {{.*}}@__truncsfbf2(%{{.*}}: f32) -> bf16
// BF16-NOT: @__truncsfbf2
