----------------------------- MODULE KasokuTrace -----------------------------
(****************************************************************************)
(* Checks that the steps that a run of the program has logged are a         *)
(* behaviour of KasokuCluster. README.md has the format of the lines, and   *)
(* trace.sh converts them into the module KasokuTraceLines.                 *)
(*                                                                          *)
(* Each line is matched by one action. Time passes between lines as their   *)
(* times require. Fills are not logged, so that the caches of the model     *)
(* have the entries of writes only. TLC must violate Unfinished: then all   *)
(* lines were matched.                                                      *)
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
TraceMax   == Len(Lines) + 1

\* The write of a line: the writes are numbered in the order of their Begin lines.
Write(l) == CHOOSE w \in W : Begins[w].write = l.write

Match(l) ==
  CASE l.action = "LoseItem"  -> LoseItem
    [] l.action = "ReadView"  -> ReadView(l.node)
    [] l.action = "GotView"   -> GotView(l.node)
    [] l.action = "AdoptView" -> AdoptView(l.node)
    [] l.action = "Join"      -> Join(l.node)
    [] l.action = "HandOver"  -> HandOver(l.node, l.of)
    [] l.action = "GotBooks"  -> GotBooks(l.node)
    [] l.action = "JoinDone"  -> JoinDone(l.node)
    [] l.action = "Suspend"   -> Suspend(l.node, l.of)
    [] l.action = "Clear"     -> Clear(l.node, l.of)
    [] l.action = "Evict"     -> Evict(l.node, l.of)
    [] l.action = "Leave"     -> Leave(l.node)
    [] l.action = "Crash"     -> Crash(l.node)
    [] l.action = "Serve"     -> Serves(l.node) /\ UNCHANGED vars
    [] l.action = "Begin"     -> Begin(l.node, Write(l))
    [] l.action = "RecvInv"   -> RecvInv(l.node, Write(l))
    [] l.action = "RoundDone" -> RoundDone(Write(l))
    [] l.action = "Send"      -> Send(Write(l))
    [] l.action = "Refuse"    -> Refuse(Write(l))
    [] l.action = "Apply"     -> Apply(Write(l))
    [] l.action = "Answer"    -> Answer(Write(l))
    [] l.action = "GiveUp"    -> GiveUp(Write(l))
    [] l.action = "RecvVal"   -> RecvVal(l.node, Write(l))
    [] OTHER -> FALSE

\* The optional fields of a line agree with the state after the step. Lines that
\* add an epoch name it; other lines name the node's own epoch.
Agree(l) ==
  /\ real' = IF Len(views') = Len(views) THEN real
             ELSE Append(real, IF "epoch" \in DOMAIN l THEN l.epoch ELSE 0)
  /\ "epoch" \in DOMAIN l =>
       IF Len(views') = Len(views) THEN real[epoch'[l.node]] = l.epoch
                                   ELSE \A e \in DOMAIN real : real[e] < l.epoch
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
  /\ Tick
  /\ clock' = clock + 1 /\ UNCHANGED <<line, real>>

\* A request that was answered was executed, though the origin has not logged it.
Executed ==
  /\ line <= Len(Lines) /\ Lines[line].action = "Answer"
  /\ Apply(Write(Lines[line]))
  /\ UNCHANGED <<line, clock, real>>

TraceInit ==
  /\ Init /\ item.clean = Header.fresh
  /\ line = 2 /\ clock = Ticks(Header.time) /\ real = <<0>>

TraceNext == Take \/ Pass \/ Executed

TraceSpec == TraceInit /\ [][TraceNext]_<<vars, line, clock, real>>

Unfinished == line <= Len(Lines)

=============================================================================
