package coherence

// streamCopy stores units of 64 bytes with MOVNTDQ, past the caches, and ends with SFENCE: what lies in write-combining
// buffers is out before it returns. to begins on 64 bytes.
func streamCopy(to, from *byte, units int)

// throughCopy stores units of 64 bytes and issues CLWB (write back, keep the line) after each. to begins on 64 bytes.
func throughCopy(to, from *byte, units int)

// probeCopies asks this processor for what stores past and through its caches, in units of bytes; nil: it has none.
func probeCopies() (unit int, stream, through func(to, from *byte, units int)) {
	return chooseCopies(cpuid)
}

// chooseCopies: MOVNTDQ is part of amd64; CPUID.7.0:EBX[24] is CLWB.
func chooseCopies(cpuid func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)) (unit int, stream, through func(to, from *byte, units int)) {
	if highest, _, _, _ := cpuid(0, 0); highest >= 7 {
		if _, ebx7, _, _ := cpuid(7, 0); ebx7&(1<<24) != 0 {
			through = throughCopy
		}
	}
	return 64, streamCopy, through
}
