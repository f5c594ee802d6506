package main

// Run is the program.
var Run = run
