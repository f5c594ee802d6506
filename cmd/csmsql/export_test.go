package main

import "github.com/csmsql/csmsql/internal/faults"

// Run is the program.
var Run = run

// NewRoot is the command that all others are below.
var NewRoot = newRoot

// SetFault has the nodes of this process call hook at their fault points. Call it before Run.
func SetFault(hook faults.Hook) { fault = hook }
