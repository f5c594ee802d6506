// Package certificate makes and checks the certificates by which the nodes of a cluster, and its operators' tools, know
// each other.
//
//	csmsql cluster cert                                   a node, a tool
//	───────────────────                                   ──────────────
//	CreateAuthority ─► ca.crt, ca.key                     Load ─► Credentials ─┬─ Server() ─► tls.Config of a listener
//	Authority.Issue ─► node.crt, node.key  ── by hand ──▶  checks everything   └─ Client(node) ─► tls.Config of a connection
//	                   client.crt, client.key              that can be checked         │
//	                   (and ca.crt; never ca.key)          before it is needed         ▼
//	                                                                        Identify(connection) ─► Identity
//
// Words: authority, the signer; the cluster is all holders of a certificate of one authority · identity, role and
// name, a URI in the certificate: csmsql://node/NAME or csmsql://client/NAME · node, a process that lends and queries ·
// client, a tool whose user may do everything an operator may.
//
// # Invariants
//
//   - T1: only TLS 1.3, only with certificates on both sides, and both signed by the one authority
//   - T2: a peer's identity is the URI in its certificate; no certificate has two such URIs, and host names decide
//     nothing
//   - T3: nothing is resumed: each connection has its certificates verified, with their times
//   - T4: files are made 0600 and never over others; a key that others can read is refused
//   - T5: every error says which file or peer, what is wrong, and what to do
//
// Keys are ECDSA P-256. Certificates that were made by other means work as well, if they have the URI.
//
// # What it does not do
//
// No revocation: certificates are short-lived (a year), and a node's name can be refused by the cluster's membership.
// No reload: a node is restarted with its new certificate. It opens no connection.
package certificate
