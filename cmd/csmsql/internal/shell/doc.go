// Package shell runs SQL texts: a script, or what a user types.
//
//	lines ─► reader: is the statement complete? ─► statements ─► conversation ─► present
//	   └──── \q \? \d \dt \dn \timing …: commands of the shell itself
//
// A script stops at its first error; an interactive shell goes on. Ctrl-C cancels the running statement, or discards
// the one being typed. There is one goroutine; Ctrl-C ends the conversation's context.
package shell
