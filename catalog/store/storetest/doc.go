// Package storetest is the suite that every catalog store must pass: S1 to S8 of catalog/store.
//
//	func TestConformance(t *testing.T) { storetest.Run(t, func(t *testing.T) storetest.World { … }) }
//
//	World ── Open ──▶ handle, handle, …  one content     what each answers ─┐
//	  │ Kill, Forget, Disturb                                               ├─ compared with a twin: a map that remembers all
//	  └─ what happens to processes, histories and connections               ┘  what a watch showed ─┘
//
// Files: conformance (transactions and scans), watch, session (ephemeral keys, several handles), model (random steps).
//
// It does not test what a crash of the machine does, nor how fast anything is.
package storetest
