// Package smaps reads what the kernel says of the memory of a process.
package smaps

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Memory is what the kernel says of a process, in bytes.
type Memory struct {
	PSS           int64 // all of it
	TablePSS      int64 // of the region's file
	TableResident int64 // pages of the region's file that the process has in its page table
}

// Of reads /proc/PID/smaps_rollup, and smaps for the region's file.
func Of(pid int, region string) (m Memory, err error) {
	all, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return m, err
	}
	defer all.Close()
	if m.PSS, _, err = sum(all, func(string) bool { return true }); err != nil {
		return m, err
	}
	each, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return m, err
	}
	defer each.Close()
	m.TablePSS, m.TableResident, err = sum(each, func(head string) bool { return strings.HasSuffix(head, " "+region) })
	return m, err
}

// sum adds up Pss and Rss of the wanted mappings of a text in smaps' format.
func sum(r io.Reader, wanted func(head string) bool) (pss, rss int64, err error) {
	lines := bufio.NewScanner(r)
	counts, found := false, false
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok || strings.Contains(name, " ") { // "addresses permissions offset device inode path"
			counts = wanted(lines.Text())
			continue
		}
		if !counts || name != "Pss" && name != "Rss" {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("smaps: %q: %w", lines.Text(), err)
		}
		if found = true; name == "Pss" {
			pss += kib << 10
		} else {
			rss += kib << 10
		}
	}
	if err := lines.Err(); err != nil {
		return 0, 0, err
	}
	if !found {
		return 0, 0, fmt.Errorf("smaps: the mapping is not there")
	}
	return pss, rss, nil
}
