#include "textflag.h"

// All loops copy units × 64 bytes, at most 1 MiB, because nothing here can be preempted. to begins on a line.

// LOAD brings the next unit into X0 to X3.
#define LOAD \
	MOVOU (SI), X0;   \
	MOVOU 16(SI), X1; \
	MOVOU 32(SI), X2; \
	MOVOU 48(SI), X3

// STREAM stores it past the caches.
#define STREAM \
	MOVNTO X0, (DI);   \
	MOVNTO X1, 16(DI); \
	MOVNTO X2, 32(DI); \
	MOVNTO X3, 48(DI)

// func streamCopy(to, from *byte, units int)
// Guarantee: every byte was stored by MOVNTDQ, and the stores are ordered before whatever follows the return.
TEXT ·streamCopy(SB), NOSPLIT, $0-24
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ units+16(FP), CX
	TESTQ CX, CX
	JEQ  done

loop:
	LOAD
	STREAM
	ADDQ   $64, SI
	ADDQ   $64, DI
	DECQ   CX
	JNE    loop

done:
	SFENCE
	RET

// func streamBehind(to, from, flushed *byte, units int)
// Guarantee: as streamCopy, and CLFLUSHOPT was issued once for every line of the units from flushed on, which begins on a line. It
// does not wait for them: FenceFull does.
TEXT ·streamBehind(SB), NOSPLIT, $0-32
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ flushed+16(FP), DX
	MOVQ units+24(FP), CX
	TESTQ CX, CX
	JEQ  done

loop:
	LOAD
	STREAM
	CLFLUSHOPT (DX)
	ADDQ   $64, SI
	ADDQ   $64, DI
	ADDQ   $64, DX
	DECQ   CX
	JNE    loop

done:
	SFENCE
	RET

// func throughCopy(to, from *byte, units int)
// Guarantee: CLWB was issued once for every unit, after its stores. It does not wait: FenceFull does.
TEXT ·throughCopy(SB), NOSPLIT, $0-24
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ units+16(FP), CX
	TESTQ CX, CX
	JEQ  done

loop:
	LOAD
	MOVOU X0, (DI)
	MOVOU X1, 16(DI)
	MOVOU X2, 32(DI)
	MOVOU X3, 48(DI)
	CLWB  (DI)
	ADDQ  $64, SI
	ADDQ  $64, DI
	DECQ  CX
	JNE   loop

done:
	RET
