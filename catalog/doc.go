// Package catalog collects chunks into HugeTables and decides who sees what, atomically and durably.
package catalog
