----------------------------- MODULE KasokuTrace -----------------------------
(****************************************************************************)
(* Checks that the steps that a run of the program has logged are a         *)
(* behaviour of KasokuCluster. README.md has the format of the lines, and   *)
(* trace.sh converts them into the module KasokuTraceLines.                 *)
(*                                                                          *)
(* Each line is matched by one action. Time passes between lines as their   *)
(* times require. Fills are not logged, so that the caches of the model     *)
(* have the entries of writes only. The trace is accepted if TLC matches    *)
(* all lines.                                                               *)
(****************************************************************************)
EXTENDS KasokuCluster, KasokuTraceLines

VARIABLES
  line,    \* number of the next line
  clock,   \* ticks since the start
  real     \* real[e]: the number of epoch e in the trace

Header == Lines[1]
Begins == SelectSeq(Lines, LAMBDA l : l.action = "Begin")

\* Lengths in ticks. A lease and a request may take one tick more, because the
\* times of lines are rounded down.
Ticks(ms)   == ms \div Header.tick
RoundUp(ms) == Ticks(ms + Header.tick - 1) + 1

\* The values of the constants.
TraceNode  == {Lines[i].node : i \in {j \in DOMAIN Lines : "node" \in DOMAIN Lines[j]}}
TraceKinds == [i \in DOMAIN Begins |-> Begins[i].kind]
TraceL     == RoundUp(Header.lease)
TraceWait  == Ticks(Header.wait)
TraceReach == RoundUp(Header.reach)
TraceQuar  == IF "quarantine" \in DOMAIN Header THEN RoundUp(Header.quarantine) ELSE TraceReach
TraceMax   == Len(Lines) + 1

\* The write of a line: the writes are numbered in the order of their Begin lines.
Write(l) == CHOOSE w \in W : Begins[w].write = l.write

\* Lines that may have no effect in the specification:
\* - a read of the view by a node that is no member,
\* - what a node does that has left, but has not got the answer to that yet,
\* - a view whose epoch the node has already, since the specification takes the
\*   origin's execution of a join and its answer for one step,
\* - books that get lost, or that the joiner does not need,
\* - an acknowledgement that does not count, and the end of a fence that the
\*   specification does not have. If it did count, RoundDone is not possible.
Still == UNCHANGED vars
IsMember(n) == mode[n] \in {"in", "joining"}
SameEpoch(l) == "epoch" \in DOMAIN l /\ epoch[l.node] > 0 /\ real[epoch[l.node]] = l.epoch

TraceReadView(l) == IF IsMember(l.node) THEN ReadView(l.node) ELSE Still

TraceGotView(l) == IF mode[l.node] = "left" THEN Still ELSE GotView(l.node)

TraceAdoptView(l) == IF mode[l.node] = "left" \/ SameEpoch(l) THEN Still
                     ELSE AdoptView(l.node)

\* Books that were sent before and have not arrived may be lost.
TraceHandOver(l) ==
  \/ Still
  \/ HandOver(l.node, l.of)

TraceRecvInv(l) == LET w == Write(l) IN
  IF ENABLED RecvInv(l.node, w) THEN RecvInv(l.node, w) ELSE Still

TraceRecvVal(l) == LET w == Write(l) IN
  IF \E p \in open[l.node] : p[1] = w THEN RecvVal(l.node, w) ELSE Still

TraceRefuse(l) == IF writes[Write(l)].state = "dead" THEN Still ELSE Refuse(Write(l))

\* A hit. No write of another node may be open, except that fills go on during a
\* purge. A strongly consistent read could not have returned a later version.
TraceServe(l) ==
  /\ Serves(l.node)
  /\ "write" \in DOMAIN l =>
       /\ \A p \in open[l.node] : Kinds[p[1]] = "purge"
       /\ IF l.write = "none" THEN Seen = 0 ELSE writes[Write(l)].version >= Seen
  /\ Still

Same(l) == "same" \in DOMAIN l /\ l.same

\* The write of the view that the line before has logged takes out m as well.
EvictAlso(n, m) ==
  /\ n # m /\ {n, m} \subseteq Members /\ IsMember(n) /\ epoch[n] = Newest - 1
  /\ m \in item.joining \/ (<<n, m>> \in item.marks /\ wait[n][m] = 0)
  /\ views' = [views EXCEPT ![Newest] = @ \ {m}]
  /\ item' = [item EXCEPT !.joining = @ \ {m}, !.marks = MarksWithout(m)]
  /\ wait' = [wait EXCEPT ![n][m] = 0]
  /\ UNCHANGED <<origin, lag, writes, mode, epoch, lease, proof, adopted, sponsored,
                 books, cache, pending, open, quar, recent>>

Match(l) ==
  CASE l.action = "LoseItem"  -> LoseItem
    [] l.action = "ReadView"  -> TraceReadView(l)
    [] l.action = "GotView"   -> TraceGotView(l)
    [] l.action = "AdoptView" -> TraceAdoptView(l)
    [] l.action = "Join"      -> Join(l.node)
    [] l.action = "HandOver"  -> TraceHandOver(l)
    [] l.action = "GotBooks"  -> GotBooks(l.node)
    [] l.action = "JoinDone"  -> JoinDone(l.node)
    [] l.action = "Suspend"   -> Suspend(l.node, l.of)
    [] l.action = "Clear"     -> Clear(l.node, l.of)
    [] l.action = "Evict"     -> IF Same(l) THEN EvictAlso(l.node, l.of)
                                            ELSE Evict(l.node, l.of)
    [] l.action = "Leave"     -> Leave(l.node)
    [] l.action = "Crash"     -> Crash(l.node)
    [] l.action = "Serve"     -> TraceServe(l)
    [] l.action = "Begin"     -> Begin(l.node, Write(l))
    [] l.action = "RecvInv"   -> TraceRecvInv(l)
    [] l.action = "RoundDone" -> RoundDone(Write(l))
    [] l.action = "Send"      -> Send(Write(l))
    [] l.action = "Refuse"    -> TraceRefuse(l)
    [] l.action = "Apply"     -> Apply(Write(l))
    [] l.action = "Answer"    -> Answer(Write(l))
    [] l.action = "GiveUp"    -> GiveUp(Write(l))
    [] l.action = "RecvVal"   -> TraceRecvVal(l)
    [] OTHER -> FALSE

\* The optional fields of a line agree with the state after the step. Lines that
\* change the members name the new epoch; other lines name the node's own epoch.
Agree(l) ==
  /\ real' = IF Len(views') = Len(views) THEN real
             ELSE Append(real, IF "epoch" \in DOMAIN l THEN l.epoch ELSE 0)
  /\ "epoch" \in DOMAIN l =>
       CASE Len(views') # Len(views) -> \A e \in DOMAIN real : real[e] < l.epoch
         [] Same(l)                  -> real[Newest] = l.epoch
         [] OTHER                    -> real[epoch'[l.node]] = l.epoch
  /\ "mode" \in DOMAIN l => mode'[l.node] = l.mode
  \* the books of one member were received
  /\ l.action = "GotBooks" => \A a \in books[l.node] \ books'[l.node] : a.from = l.of

Take ==
  /\ line <= Len(Lines) /\ clock >= Ticks(Lines[line].time)
  /\ Match(Lines[line]) /\ Agree(Lines[line])
  /\ PrintT(<<"matched", line>>)
  /\ line' = line + 1 /\ UNCHANGED clock

\* Time passes until the next line.
Pass ==
  /\ line <= Len(Lines) /\ clock < Ticks(Lines[line].time)
  /\ Elapse(Ticks(Lines[line].time) - clock)
  /\ clock' = Ticks(Lines[line].time) /\ UNCHANGED <<line, real>>

\* A request that was answered was executed, though the origin has not logged it.
Executed ==
  /\ line <= Len(Lines) /\ Lines[line].action = "Answer"
  /\ Apply(Write(Lines[line]))
  /\ UNCHANGED <<line, clock, real>>

\* A node was taken out before it got the answer to its join, and joins again.
Unnoticed ==
  /\ line <= Len(Lines) /\ Lines[line].action = "Join"
  /\ LET n == Lines[line].node IN
       /\ mode[n] = "joining" /\ n \notin Members
       /\ views' = views /\ Expel(n)
  /\ UNCHANGED <<origin, lag, item, epoch, proof, line, clock, real>>

\* A joiner asks a member for its books again that was taken out and is back. The
\* specification does not require that.
AskAgain ==
  /\ line <= Len(Lines) /\ Lines[line].action = "HandOver"
  /\ LET n == Lines[line].of  m == Lines[line].node IN
       /\ m \in adopted[n] /\ \E e, f \in DOMAIN views : e < f /\ m \in views[e] \ views[f]
       /\ adopted' = [adopted EXCEPT ![n] = @ \ {m}]
  /\ UNCHANGED <<origin, lag, views, item, writes, mode, epoch, lease, proof, wait,
                 sponsored, books, cache, pending, open, quar, recent, line, clock, real>>

\* A node that has left, but has not got the answer to that yet, hands over its
\* books. It has lost none of them: that is the same as if it had done so before.
LastBooks ==
  /\ line <= Len(Lines) /\ Lines[line].action = "Leave"
  /\ \E n \in item.joining \ {Lines[line].node} : HandOver(Lines[line].node, n)
  /\ UNCHANGED <<line, clock, real>>

TraceInit ==
  /\ Init /\ item.clean = Header.fresh
  /\ line = 2 /\ clock = Ticks(Header.time) /\ real = <<0>>

TraceNext == Take \/ Pass \/ Executed \/ Unnoticed \/ AskAgain \/ LastBooks

TraceSpec == TraceInit /\ [][TraceNext]_<<vars, line, clock, real>>

=============================================================================
