package protocol

// rule is a rule of the protocol. The build tag kasokumutant can turn one off, for the test
// that the simulation fails without it.
type rule uint8

const (
	ruleAllAcknowledge     rule = iota + 1 // a round is complete when all members have acknowledged it
	ruleJoinersAcknowledge                 // joining members have to acknowledge as well
	ruleLeaseAtRound                       // the origin is asked only with a lease
	ruleFormerAcks                         // acknowledgements of a former member don't count for the next one
	ruleRounds                             // acknowledgements of an earlier round don't count
	ruleExtend                             // further tags need a round of their own
	ruleApplyFirst                         // a payload is acknowledged when it has been carried out
	ruleResend                             // messages are repeated until they are acknowledged
	ruleNoGap                              // and a repeated message is not taken for acknowledged
	ruleOwner                              // Val ends only a write of its sender
	ruleOpen                               // Open keeps the writes that it lists
	ruleOpenEnds                           // Open ends the writes that it does not list
	ruleUnknown                            // a write of unknown outcome ends in quarantine
	ruleUnknownOpen                        // and is open until all have acknowledged that
	ruleDropped                            // so do the writes of a member that was taken out
	ruleProofDate                          // a proof is dated before its read was sent
	ruleSuspendedProof                     // a suspended member's read is no proof
	ruleLost                               // the loss of the view ends the membership
	ruleMarkFirst                          // a serving member is taken out one Wait after its mark
	ruleExpelled                           // a node that was taken out stops to serve
	ruleNewNumber                          // and joins under a new number
	ruleAbandon                            // and ends its writes
	ruleBooks                              // a node serves when all members have handed over their books
	ruleBookWrites                         // a book has the open writes
	ruleBookQuarantines                    // a book has the quarantines
	ruleBookPayload                        // a book shows which writes are purges
	ruleCold                               // nothing is stored for a Reach if no member serves
	ruleNewItem                            // a node waits if no member serves
	ruleFreshOnce                          // only the first item of a new table needs no wait
	ruleFreshEnds                          // and only for one Lease
	ruleCleanQuiet                         // a view is clean only if the last member had no quarantine
	ruleCleanServed                        // and has served
	ruleEmpty                              // a node that was taken out is emptied before it serves
	ruleSettle                             // a node that has joined reads strongly for a time
	ruleLeaving                            // a node that leaves stops to serve first
	rulesEnd
)
