// Package shell runs SQL texts: a script, or what somebody types.
//
//	lines ─► reader: is the statement complete? ─► statements ─► conversation ─► present
//	   └──── \q \? \d \dt \dn \timing …: commands of the shell itself
//
// A script stops at its first error; a person may go on. Ctrl-C cancels the running statement, or forgets the one being
// typed. One goroutine; the conversation's context is what Ctrl-C ends.
package shell
