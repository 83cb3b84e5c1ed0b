target triple = "nvptx64-nvidia-cuda"
@smem = internal addrspace(3) global [128 x float] undef, align 16
@dyn = external addrspace(3) global [0 x i8], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.redux.sync.add(i32,i32)
declare i1 @llvm.nvvm.vote.any.sync(i32,i1)
declare i32 @llvm.nvvm.vote.ballot.sync(i32,i1)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.fma.f32(float,float,float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.maximum.f32(float,float)
declare float @llvm.maxnum.f32(float,float)
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare {float,float,float,float} @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32,i32,i32,i32,i32,i32,float,float,float,float)
declare {i32,i32,i32,i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.ctlz.i32(i32,i1)
declare i32 @llvm.fshl.i32(i32,i32,i32)
declare <2 x half> @llvm.fma.v2f16(<2 x half>,<2 x half>,<2 x half>)
define ptx_kernel void @k(ptr addrspace(1) align 16 noalias readonly %x, ptr addrspace(1) align 16 noalias %y, i32 %n, float %s, i8 %b) !dbg !5 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %m = mul i32 %c, 128
  %i = add i32 %m, %t
  %ok = icmp slt i32 %i, %n
  br i1 %ok, label %a, label %e, !dbg !8
a:
  %i64 = sext i32 %i to i64
  %p = getelementptr <4 x float>, ptr addrspace(1) %x, i64 %i64
  %v = load <4 x float>, ptr addrspace(1) %p, align 16, !dbg !8
  %v0 = extractelement <4 x float> %v, i32 0
  %w = call float @llvm.nvvm.ex2.approx.ftz.f(float %v0)
  %w1 = fadd float %w, %s, !dbg !8
  %w2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %w1, i32 16, i32 31)
  %w3 = call float @llvm.maximum.f32(float %w2, float %w1)
  %w4 = call float @llvm.maxnum.f32(float %w3, float 1.0)
  %w5 = fdiv float %w4, %w2
  %sp = getelementptr float, ptr addrspace(3) @smem, i32 %t
  store float %w5, ptr addrspace(3) %sp
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %x1 = xor i32 %t, 1
  %sp1 = getelementptr float, ptr addrspace(3) @smem, i32 %x1
  %l = load float, ptr addrspace(3) %sp1
  %hb = fptrunc float %l to bfloat
  %hh = fptrunc float %l to half
  %hd = fpext float %l to double
  %hd2 = fmul double %hd, 3.0
  %hi = fptosi double %hd2 to i32
  %hs = sitofp i32 %hi to float
  %rot = call i32 @llvm.fshl.i32(i32 %hi, i32 %hi, i32 7)
  %pc = call i32 @llvm.ctpop.i32(i32 %rot)
  %clz = call i32 @llvm.ctlz.i32(i32 %pc, i1 false)
  %br = call i32 @llvm.bitreverse.i32(i32 %clz)
  %dv = udiv i32 %br, %n
  %mm = mul i64 %i64, 12345678912345
  %wide = mul nsw i64 %i64, 7
  %tr = trunc i64 %mm to i32
  %f9 = sitofp i32 %tr to float
  %u9 = uitofp i32 %dv to float
  %ag = atomicrmw add ptr addrspace(1) %y, i32 %rot syncscope("device") monotonic
  %af = atomicrmw fadd ptr addrspace(1) %y, float %u9 monotonic
  %ff = fadd float %f9, %u9
  %fe = fadd float %ff, %hs
  %yq = getelementptr float, ptr addrspace(1) %y, i64 %i64
  store float %fe, ptr addrspace(1) %yq
  %yb = getelementptr bfloat, ptr addrspace(1) %y, i64 %i64
  store bfloat %hb, ptr addrspace(1) %yb
  %yh = getelementptr half, ptr addrspace(1) %y, i64 %i64
  store half %hh, ptr addrspace(1) %yh
  store i8 %b, ptr addrspace(1) %y
  %gd = addrspacecast ptr addrspace(1) %x to ptr
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) @dyn, ptr addrspace(1) %x)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  fence acq_rel
  %vs = icmp ult i64 %mm, 77
  %vb = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %vs)
  %rx = call i32 @llvm.nvvm.redux.sync.add(i32 %vb, i32 -1)
  %fr = call {i32,i32,i32,i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) @dyn)
  %f0 = extractvalue {i32,i32,i32,i32} %fr, 0
  %d = call {float,float,float,float} @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %f0,i32 %f0,i32 %f0,i32 %rx,i32 %f0,i32 %f0,float %l,float %l,float %l,float %l)
  %d0 = extractvalue {float,float,float,float} %d, 0
  store volatile float %d0, ptr addrspace(1) %y
  br label %e
e:
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3,!4}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "t", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "step.mlir", directory: "/")
!3 = !{i32 2, !"Dwarf Version", i32 2}
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !6, unit: !0)
!6 = !DISubroutineType(types: !7)
!7 = !{}
!8 = !DILocation(line: 17, column: 3, scope: !5)
