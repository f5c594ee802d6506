// Package ipcframe looks at the frames of an Arrow IPC file or stream before arrow-go reads it: arrow-go trusts the
// lengths in it and allocates by them, so that one flipped bit may crash the process.
//
//	file    ARROW1.. │ frame │ frame │ … │ footer │ length │ ARROW1      a footer that names no other frames than those
//	stream             frame │ frame │ …
//	frame   marker, length │ message: schema, dictionary or record batch (a flatbuffer) │ body
//
// # Invariants
//
//   - I1: every vector of a message that arrow-go walks lies in the message, and it walks no more than nodesMax of
//     them, depthMax deep.
//   - I2: a body lies in the file and its buffers in the body; what a message has arrow-go allocate, after
//     decompression, stays below the limit.
//
// # What it does not do
//
// It decodes no values: descriptor.ValidateData checks what lies in the buffers. A file that is altered between the
// check and the reading is checked in vain.
package ipcframe
