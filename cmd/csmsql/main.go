// Command csmsql lends memory to tables and answers SQL over them: see csmsql help.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
