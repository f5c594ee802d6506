package owneddir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Make makes a directory of this process, which its caller removes. No other program may use the prefix.
func Make(root, prefix string) (string, error) {
	own, err := self()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(root, prefix+own.String()+"-")
}

// Sweep removes the directories of processes that have ended. An error is of a directory that stays, since it may be
// another user's.
func Sweep(root, prefix string) error {
	here, err := namespace()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		if o, ok := ownerOf(prefix, e.Name()); ok && o.hasEnded(here) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	return err
}

// owner is a process.
type owner struct {
	namespace string // of the number
	process   int
	start     uint64 // in the kernel's ticks since the machine was booted
}

func (o owner) String() string { return fmt.Sprintf("%s-%d-%d", o.namespace, o.process, o.start) }

// self is this process.
func self() (owner, error) {
	namespace, err := namespace()
	if err != nil {
		return owner{}, err
	}
	start, err := startOf(os.Getpid())
	return owner{namespace, os.Getpid(), start}, err
}

func namespace() (string, error) {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]"), err
}

// startOf is when a process began; fs.ErrNotExist: there is none of that number.
func startOf(process int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may contain anything; the start is the 22nd.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	fields := strings.Fields(rest)
	const start = 22 - 3
	if len(fields) <= start {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", process, len(fields)+2)
	}
	return strconv.ParseUint(fields[start], 10, 64)
}

// ownerOf reads a directory's name.
func ownerOf(prefix, name string) (owner, bool) {
	parts := strings.Split(strings.TrimPrefix(name, prefix), "-")
	if !strings.HasPrefix(name, prefix) || len(parts) != 4 {
		return owner{}, false
	}
	process, failed := strconv.Atoi(parts[1])
	start, err := strconv.ParseUint(parts[2], 10, 64)
	return owner{parts[0], process, start}, failed == nil && err == nil
}

// hasEnded reports whether the process has certainly ended (SD1).
func (o owner) hasEnded(here string) bool {
	if o.namespace != here {
		return false
	}
	start, err := startOf(o.process)
	return errors.Is(err, fs.ErrNotExist) || err == nil && start != o.start
}
