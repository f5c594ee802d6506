package noderpc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/csmsql/csmsql/memregion"
)

// Process says which process of which machine a peer is, so that a lender on the same machine can see whether it
// still lives. A lender must not use memory again into which a stopped process may store when it wakes up.
type Process struct {
	// ID is the process' number.
	ID int
	// Started is when it started, in clock ticks since the machine booted: numbers come again, pairs do not.
	Started uint64
	// Namespace is where ID counts; processes in containers have others.
	Namespace uint64
	// Boot is the machine's boot.
	Boot string
}

var currentProcess = sync.OnceValue(func() Process {
	p, err := ProcessOf(os.Getpid())
	if err != nil {
		return Process{} // whether it lives will be unknown
	}
	return p
})

// CurrentProcess is this one; zero if /proc is not there.
func CurrentProcess() Process { return currentProcess() }

// ProcessOf describes a live process of this namespace.
func ProcessOf(id int) (Process, error) {
	started, err := startOf(id)
	if err != nil {
		return Process{}, err
	}
	namespace, err := pidNamespace()
	if err != nil {
		return Process{}, err
	}
	boot, err := memregion.BootID()
	if err != nil {
		return Process{}, fmt.Errorf("noderpc: describe process %d: %w", id, err)
	}
	return Process{ID: id, Started: started, Namespace: namespace, Boot: boot}, nil
}

// Gone reports whether the process has certainly ended. False means that it lives or that this is unknown: it is of
// another machine or container.
func (p Process) Gone() bool {
	here := CurrentProcess()
	if p.ID <= 0 || here.ID == 0 || p.Boot != here.Boot || p.Namespace != here.Namespace {
		return false
	}
	started, err := startOf(p.ID)
	if os.IsNotExist(err) {
		return true
	}
	return err == nil && started != p.Started
}

// startOf reads field 22 of /proc/PID/stat. Fields are counted after the last parenthesis: a program's name may hold
// anything. A zombie has ended: its memory is unmapped.
func startOf(id int) (uint64, error) {
	const stateField, startField = 3, 22
	data, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) <= startField-stateField {
		return 0, fmt.Errorf("noderpc: /proc/%d/stat has %d fields", id, len(fields))
	}
	if state := string(fields[0]); state == "Z" || state == "X" {
		return 0, os.ErrNotExist
	}
	return strconv.ParseUint(string(fields[startField-stateField]), 10, 64)
}

// pidNamespace is the number of this process' namespace.
func pidNamespace() (uint64, error) {
	name, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return 0, err
	}
	var n uint64
	if _, err := fmt.Sscanf(name, "pid:[%d]", &n); err != nil {
		return 0, fmt.Errorf("noderpc: /proc/self/ns/pid is %q", name)
	}
	return n, nil
}
