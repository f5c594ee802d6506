// Package traffic counts the messages that gRPC sends over unix sockets, by a proxy between client and server.
//
//	client ──► socket of the proxy ══ counts DATA frames of HTTP/2 ══► socket of the server
//
// # Words
//
// A message is a DATA frame that is not empty: gRPC sends a message of up to 16 KiB in one. Bytes are those of these
// frames: what gRPC itself says (headers, which are compressed the better the longer a connection lives, windows and
// pings) is not counted.
//
// # Invariants
//
//   - TF1: the proxy passes every byte on, in order, and none of its own.
//   - TF2: the counts do not depend on how the bytes are divided among reads.
//
// # What it does not do
//
// It reads no TLS: a connection with certificates has no frames that it could count.
package traffic
