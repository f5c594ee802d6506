package noderpc

import (
	"time"

	"golang.org/x/sys/unix"
)

// Instant is a reading of this machine's clock since it booted. Instants of two machines cannot be compared.
type Instant time.Duration

// Now reads CLOCK_BOOTTIME. Unlike the clock behind time.Time it runs on while the machine is suspended: a borrower on
// a suspended machine must notice that its leases may be over.
func Now() Instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("noderpc: the kernel has no CLOCK_BOOTTIME, which every Linux since 2.6.39 has: " + err.Error())
	}
	return Instant(t.Nano())
}

// Add returns the instant after a duration.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the time from o to i.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }
