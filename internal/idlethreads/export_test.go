package idlethreads

// Excess is excess.
var Excess = excess
