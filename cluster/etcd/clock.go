package etcd

import (
	"time"

	"golang.org/x/sys/unix"
)

// instant is a reading of this machine's clock since it booted, which runs on while the machine is suspended: after a
// suspension a session must not look as if no time had passed (E2).
type instant time.Duration

func bootTime() instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("etcd: the kernel has no CLOCK_BOOTTIME, which every Linux since 2.6.39 has: " + err.Error())
	}
	return instant(t.Nano())
}

func (i instant) add(d time.Duration) instant { return i + instant(d) }

func (i instant) sub(o instant) time.Duration { return time.Duration(i - o) }
