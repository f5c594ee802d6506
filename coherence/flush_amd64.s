#include "textflag.h"

// All loops here do the arithmetic of lineSpan in lines.go: from b rounded down to its line, by lines, while below
// b+size. size is at most 1 MiB, because nothing here can be preempted.

// func flushOpt(b *byte, size int, line int) int
// Guarantee: CLFLUSHOPT was issued exactly once for every line that [b, b+size) touches, and for no other.
TEXT ·flushOpt(SB), NOSPLIT, $0-32
	MOVQ b+0(FP), SI
	MOVQ size+8(FP), DI
	MOVQ line+16(FP), DX
	XORQ AX, AX
	ADDQ SI, DI          // DI = end
	MOVQ DX, CX
	NEGQ CX              // CX = ^(line-1)
	CMPQ SI, DI
	JEQ  done            // an empty range touches no line
	ANDQ CX, SI

loop:
	CMPQ SI, DI
	JCC  done            // unsigned >=
	CLFLUSHOPT (SI)
	ADDQ DX, SI
	INCQ AX
	JMP  loop

done:
	MOVQ AX, ret+24(FP)
	RET

// func flushOld(b *byte, size int, line int) int
// Guarantee: CLFLUSH was issued exactly once for every line that [b, b+size) touches, and for no other.
TEXT ·flushOld(SB), NOSPLIT, $0-32
	MOVQ b+0(FP), SI
	MOVQ size+8(FP), DI
	MOVQ line+16(FP), DX
	XORQ AX, AX
	ADDQ SI, DI
	MOVQ DX, CX
	NEGQ CX
	CMPQ SI, DI
	JEQ  done
	ANDQ CX, SI

loop:
	CMPQ SI, DI
	JCC  done
	CLFLUSH (SI)
	ADDQ DX, SI
	INCQ AX
	JMP  loop

done:
	MOVQ AX, ret+24(FP)
	RET

// func fenceStore()
// Guarantee: earlier stores, non-temporal ones included, and flushes are visible before later stores. Loads are not
// ordered: a reader needs fenceFull.
TEXT ·fenceStore(SB), NOSPLIT, $0-0
	SFENCE
	RET

// func fenceFull()
// Guarantee: earlier loads, stores and flushes are done before anything later begins.
TEXT ·fenceFull(SB), NOSPLIT, $0-0
	MFENCE
	RET

// func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL subleaf+4(FP), CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET
