package engine

import (
	"os"
	"strconv"
	"strings"
)

// defaultMemory is what queries may use: half of what the machine's memory is beyond the region's cap, and at least 512 MiB.
func defaultMemory(regionBytes int64) int64 {
	const least = 512 << 20
	return max((totalMemory()-regionBytes)/2, least)
}

// totalMemory of the machine, or of the control group that limits this process.
func totalMemory() int64 {
	total := int64(4 << 30)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "MemTotal:"); ok {
			if kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64); err == nil {
				total = kib << 10
			}
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit < total {
			total = limit
		}
	}
	return total
}
