package coherence

// flushOpt issues CLFLUSHOPT for every line that [b, b+size) touches and returns how many. CLFLUSHOPTs are not ordered
// with each other, nor with loads: FenceFull comes after (Intel SDM vol. 2A, CLFLUSHOPT).
func flushOpt(b *byte, size int, line int) int

// flushOld does the same with CLFLUSH, for processors older than 2015.
func flushOld(b *byte, size int, line int) int

// fenceStore is SFENCE. It orders stores and flushes, and no loads.
func fenceStore()

// fenceFull is MFENCE.
func fenceFull()

// cpuid executes CPUID.
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// probe asks this processor.
func probe() (Features, func(*byte, int, int) int) { return choose(cpuid) }

// choose picks the instruction. CPUID.1:EDX[19] is CLFLUSH, with its line in units of 8 bytes in CPUID.1:EBX[15:8];
// CPUID.7.0:EBX[23] is CLFLUSHOPT. MFENCE and SFENCE are part of amd64.
func choose(cpuid func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)) (Features, func(*byte, int, int) int) {
	highest, _, _, _ := cpuid(0, 0)
	_, ebx, _, edx := cpuid(1, 0)
	if edx&(1<<19) == 0 {
		return Features{}, nil
	}
	line := int(ebx>>8&0xff) * 8
	if highest >= 7 {
		if _, ebx7, _, _ := cpuid(7, 0); ebx7&(1<<23) != 0 {
			return Features{LineSize: line, Instruction: "CLFLUSHOPT"}, flushOpt
		}
	}
	return Features{LineSize: line, Instruction: "CLFLUSH"}, flushOld
}
