// Package cgroup makes control groups of memory, for tests of what a node's memory is bounded by.
//
//	Make ──► a group below the test's own, or the nearest one above that has the memory controller, limit, no swap
//	Confine ──► the command's process begins in it: sh -c 'echo $$ > cgroup.procs; exec …'
//	Usage, Peak, Kills ──► what the kernel says of it
//	Close ──► the group is removed
//
// Both versions of control groups are known, and tested on trees of files that look like them (System): of version 2 it
// needs a group with "memory" in cgroup.subtree_control, of version 1 the hierarchy of the memory controller. Only root
// can, unless something was delegated.
//
// # Words
//
// A group is a control group. What it has is anonymous memory, shared memory (tmpfs, a node's region), the kernel's for
// it (sockets' buffers, page tables), and files' pages, which the kernel takes back before it kills.
//
// # What it does not do
//
// It limits nothing but memory, and moves no process that runs.
package cgroup
