#include "textflag.h"

// Both loops copy units × 64 bytes, at most 1 MiB, because nothing here can be preempted. to begins on 64 bytes.

// func streamCopy(to, from *byte, units int)
// Guarantee: every byte was stored by STNP, and the stores are done before whatever follows the return.
TEXT ·streamCopy(SB), NOSPLIT, $0-24
	MOVD to+0(FP), R0
	MOVD from+8(FP), R1
	MOVD units+16(FP), R2
	CBZ  R2, done

loop:
	FLDPQ (R1), (F0, F1)
	FLDPQ 32(R1), (F2, F3)
	WORD  $0xac000400      // STNP Q0, Q1, [X0]
	WORD  $0xac010c02      // STNP Q2, Q3, [X0, #32]
	ADD   $64, R1, R1
	ADD   $64, R0, R0
	SUBS  $1, R2, R2
	BNE   loop

done:
	DSB $15
	RET

// func throughCopy(to, from *byte, units int)
// Guarantee: DC CVAC was issued once for every unit, after its stores, and is completed on return: DSB completes what its
// own processor issued, and a goroutine may be elsewhere when it comes to FenceFull.
TEXT ·throughCopy(SB), NOSPLIT, $0-24
	MOVD to+0(FP), R0
	MOVD from+8(FP), R1
	MOVD units+16(FP), R2
	CBZ  R2, done

loop:
	FLDPQ (R1), (F0, F1)
	FLDPQ 32(R1), (F2, F3)
	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	DC    CVAC, R0
	ADD   $64, R1, R1
	ADD   $64, R0, R0
	SUBS  $1, R2, R2
	BNE   loop

done:
	DSB $15
	RET
