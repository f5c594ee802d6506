// Package testmalloc takes memory from C's malloc and C++'s operator new and gives it back, as tests need it: what
// malloc keeps of what was freed depends on the sizes of blocks, on their order and on the threads, which no SQL
// statement determines.
package testmalloc
