// Package conformance proves that implementations of partitioned consumer groups
// share a group: byte for byte on the wire, and live in every combination of
// roles. README.md says how to run it, how to read its report and how to put an
// implementation in another language to the test.
//
//	                 ┌─ capture ─► transcript ─► compare with the golden ──┐
//	case ─► peer ────┤                                                     ├─► known? ─► report
//	                 └─ events ──► deliveries ─► once, in order, by owner? ┘
//
// A peer is a running instance of an implementation: this repository's library or
// the reference in this process (adapter), or a program (Program). Nothing here
// looks inside of an implementation.
package conformance
