// Package store keeps the catalog's records: a sorted map of keys with one operation to change it.
//
//	Transaction: IF every compared key has the revision I saw THEN delete …, put … ELSE nothing
//
//	Bolt    one file, a file lock, fsync before Commit returns       one machine
//	Memory  a map                                                    tests
//	(etcd)  the same interface: compares are mod revisions, prefixes are ranges       cluster, later
//
// Every write gets the revision of its transaction; that is all a compare looks at, so an etcd transaction can do it.
// Limits tells how much one transaction takes (etcd: 128 operations, 1.5 MiB); writers split what does not have to be
// atomic.
//
//	S1  a transaction happens wholly or not at all, and after Commit returned it survives a crash.
//	S2  two transactions that compare a key with the same revision and write it do not both succeed.
//	S3  a Scan sees one revision.
//
// storetest holds every implementation to these. It does not know what the records mean.
package store
