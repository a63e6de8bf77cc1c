---------------------------- MODULE KasokuCluster ----------------------------
(****************************************************************************)
(* A cluster of Kasoku nodes: several coherent caches before one origin.    *)
(* The module specifies the steps that a node may take, and TLC searches    *)
(* for an order of steps in which a client gets an answer that is too old.  *)
(*                                                                          *)
(* A VARIABLE is a part of the state. An action (below "Actions") is one    *)
(* atomic step of a node, of the origin or of the clock, and x' is the      *)
(* value of x after it. Every enabled step may be taken next. A node that   *)
(* takes no step for a while is a node that is paused, slow or cut off, so  *)
(* none of these needs an action of its own.                                *)
(*                                                                          *)
(* Abstractions. Each allows the behaviour of the program, and more:        *)
(*                                                                          *)
(* - Messages have no order and are not removed when they are received.     *)
(*   Any may be lost. Messages about a write are derived from its record:   *)
(*   writes[w].state = "inv" means that INV(w) of epoch writes[w].epoch is  *)
(*   in the network, "ok" and "unknown" mean that VAL(w) is. An             *)
(*   acknowledgement is an element of writes[w].acks.                       *)
(* - A fill notes its generations, asks the origin, and stores the answer   *)
(*   if the generations are unchanged. Readers may join it on the           *)
(*   conditions on which they may hit an entry. So a fill under way and     *)
(*   its entry are the same here: cache[n]. "The generation moves" is: the  *)
(*   entry, or fill, is gone. With the rule "note" off the two are apart,   *)
(*   see pending.                                                           *)
(* - Time is discrete: Tick counts all timers down. Clocks of different     *)
(*   rates are in the lengths: L is a lease by the slowest clock, Wait is a *)
(*   lease by the fastest.                                                  *)
(* - There is one item, and one query of an index that shows it ("index").  *)
(*   An entry is the number of the version that it shows.                   *)
(* - A Node is a process. It may be taken out of the view and join again.   *)
(*   The successor of one that has crashed or left is another Node.         *)
(****************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Node,       \* all nodes
  None,       \* no value
  First,      \* the number of members at first
  Kinds,      \* the writes that clients send, as a sequence of
              \*   "put":   changes the item
              \*   "index": changes the item, and the index's query as well,
              \*            which only the origin's answer shows
              \*   "purge": drops the item from all caches
  L,          \* the duration of a lease
  Wait,       \* the time between a mark and the removal of the marked member
  Reach,      \* a request that was sent to the origin takes effect within this
              \* time or never (origin timeout and quarantine)
  MaxEpoch,   \* bound: changes of the view
  MaxCrash,   \* bound: crashes
  Leaves,     \* whether nodes leave
  Loses,      \* whether the view item may be lost
  Spurious,   \* which live members may be suspected: "none"; "marks": any may be
              \* marked once by each other one; "all": any may be marked and
              \* taken out
  SlowProof,  \* whether time may pass between a read of the view and its answer
  SlowBooks,  \* whether time may pass between the two ends of a hand-over
  OnlyPeers,  \* nodes that are filled by peers only (for witnesses)
  Off         \* the rules that are switched off; {} is the design

On(rule) == rule \notin Off

W == 1 .. Len(Kinds)                       \* the writes

Tags == {"item"} \cup IF \E w \in W : Kinds[w] = "index" THEN {"index"} ELSE {}

VARIABLES
  \* the origin
  origin,    \* version of the item
  lag,       \* oldest version that a lagging replica may still answer
  views,     \* history of the view item: views[e] is the set of members in epoch e
  item,      \* the rest of the view item:
             \*   joining  members that do not serve yet
             \*   marks    pairs <<n, m>>: n has suspended m, and will take it out
             \*   lost     the item does not exist: it was lost
             \*   clean    the last member has left, and nothing was in flight
             \* and, for the bound "marks", the pairs that were cleared
  \* the writes, as their coordinators have them; see NewWrite
  writes,
  \* the nodes
  mode,      \* "in": a member that serves; "joining": one that does not yet;
             \* "out": not a member, and aware of it; "down"; "left"
  epoch,     \* the epoch that the node has adopted
  lease,     \* time until its newest proof is too old
  proof,     \* proof under way: [ep, left], or None
  wait,      \* wait[n][m]: time until n may take m out of the view;
             \* wait[n][n]: time until n may serve, having joined
  adopted,   \* joining: the members that have handed over their books
  sponsored, \* joining: a serving member was among them, or the view was clean
  books,     \* joining: books that are on their way to the node
  cache,     \* tag -> version or None
  pending,   \* only with "note" off: an answer under way that no fence reaches
  open,      \* the node's books: <<w, tag>> of writes in flight
  quar,      \* tag -> time until its quarantine ends
  recent     \* tags written less than settle ago: they are read strongly

vars == <<origin, lag, views, item, writes, mode, epoch, lease, proof, wait,
          adopted, sponsored, books, cache, pending, open, quar, recent>>

-----------------------------------------------------------------------------
(* Definitions *)

Max(a, b) == IF a > b THEN a ELSE b

Newest  == Len(views)
Members == views[Newest]

\* The states of a write:
\*   new      not begun
\*   inv      INV is sent; acknowledgements are awaited
\*   ready    all have acknowledged; the request may be sent to the origin
\*   sent     the request was sent to the origin
\*   more     the origin has answered; INV for further tags is sent
\*   ok       acknowledged to the client, VAL is sent
\*   unknown  the client got an error; VAL reports an unknown outcome
\*   unsent   the client got an error; VAL reports that the request was not sent
\*   dead     the coordinator has crashed or was taken out: no VAL
NewWrite == [state |-> "new", by |-> None, epoch |-> 0, since |-> 0, acks |-> {},
             version |-> None, request |-> 0, alone |-> FALSE]

Ended == {"ok", "unknown", "unsent", "dead"}

\* The record of a write that has ended.
End(r, s) == [r EXCEPT !.state = s, !.epoch = 0, !.since = 0, !.acks = {}, !.alone = FALSE]

FurtherTags(w) == IF Kinds[w] = "index" THEN {"index"} ELSE {}
AllTags(w)     == {"item"} \cup FurtherTags(w)

\* The quarantine of the open writes of a member that is no more. It can't send
\* them any more: it was marked, and its lease has ended.
QuarRemoved == IF On("quarantine of removed") THEN Reach ELSE 0

\* A request takes effect within this time after its coordinator gave it up. A trace
\* has a shorter one: the code counts it from the loss of the connection.
QuarUnknown == Reach

Settled(n, t) == quar[n][t] = 0 /\ \A w \in W : <<w, t>> \notin open[n]

Empty        == [t \in Tags |-> None]
NoQuarantine == [t \in Tags |-> 0]
Fenced(n, T) == [t \in Tags |-> IF t \in T THEN None ELSE cache[n][t]]

\* Rule 1: n answers from its cache, lets readers join its fills, and answers
\* peers.
Serves(n) == mode[n] = "in" /\ (lease[n] > 0 \/ ~On("lease on hit"))

-----------------------------------------------------------------------------
(* Adopting a newer view *)

\* The nodes that were members in a view from epoch a to e, and were none in
\* another one. The write of a member that was taken out and has joined again
\* is handled like the write of one that was taken out.
Removed(a, e) == {m \in Node : /\ \E i \in a .. e : m \in views'[i]
                               /\ \E i \in a .. e : m \notin views'[i]
                               /\ m \in views'[a] \/ m \notin views'[e]}

Dropped(list, a, e) == {p \in list : writes[p[1]].by \in Removed(a, e)}

\* A write whose round is not complete repeats it in the new view.
\* Acknowledgements of nodes that have remained members count.
Restart(w, a, e) ==
  IF writes[w].state \in {"inv", "more"} /\ On("round again")
  THEN [writes[w] EXCEPT !.epoch = e,
          !.acks = {m \in @ : \A i \in a .. e : m \in views'[i]}]
  ELSE writes[w]

\* The quarantines of n when it drops writes from its books.
QuarWith(n, list) == [t \in Tags |->
  IF \E p \in list : p[2] = t THEN Max(quar[n][t], QuarRemoved) ELSE quar[n][t]]

\* n adopts epoch e of views'. Other variables of n are not touched.
Adopt(n, e) ==
  IF e <= epoch[n]
  THEN UNCHANGED <<epoch, open, quar, writes>>
  ELSE LET drop == Dropped(open[n], epoch[n], e) IN
  /\ epoch' = [epoch EXCEPT ![n] = e]
  /\ open' = [open EXCEPT ![n] = @ \ drop]
  /\ quar' = [quar EXCEPT ![n] = QuarWith(n, drop)]
  /\ writes' = [w \in W |->
       IF writes[w].by = n THEN Restart(w, epoch[n], e) ELSE writes[w]]

\* The writes when the membership of n ends. A request that was sent may still be
\* answered; the epoch 0 shows that the write belongs to a former membership.
Abandoned(n) == [w \in W |->
  CASE writes[w].by # n -> writes[w]
    [] writes[w].state = "inv" ->
         End(writes[w], IF writes[w].request > 0 THEN "unknown" ELSE "dead")
    [] writes[w].state = "ready" /\ On("lease at send") -> End(writes[w], "dead")
    [] writes[w].state = "more" -> End(writes[w], "unknown")
    [] writes[w].state \in {"ready", "sent"} -> [writes[w] EXCEPT !.epoch = 0]
    [] OTHER -> writes[w]]

\* n finds that it is not a member any more.
Expel(n) ==
  /\ mode'  = [mode EXCEPT ![n] = "out"]
  /\ lease' = [lease EXCEPT ![n] = 0]
  /\ wait'  = [wait EXCEPT ![n] = [m \in Node |-> 0]]
  /\ adopted'   = [adopted EXCEPT ![n] = {}]
  /\ sponsored' = [sponsored EXCEPT ![n] = FALSE]
  /\ books' = [books EXCEPT ![n] = {}]
  /\ cache' = IF On("join empties") THEN [cache EXCEPT ![n] = Empty] ELSE cache
  /\ open'  = [open EXCEPT ![n] = {}]
  /\ quar'  = [quar EXCEPT ![n] = NoQuarantine]
  /\ recent' = [recent EXCEPT ![n] = {}]
  /\ pending' = [pending EXCEPT ![n] = None]
  /\ writes' = Abandoned(n)

-----------------------------------------------------------------------------
(* Actions: writes (rules 2, 5, 8) *)

\* n receives a client's write.
Begin(n, w) ==
  /\ mode[n] = "in" /\ lease[n] > 0
  /\ writes[w].state = "new" /\ \A v \in 1 .. w-1 : writes[v].state # "new"
  /\ LET purge == Kinds[w] = "purge" IN
     \* A purge is made a version of its own: what is read from the origin from
     \* now on is newer than what was cached before.
     /\ origin' = IF purge THEN origin + 1 ELSE origin
     /\ lag'    = IF purge THEN origin + 1 ELSE lag
     /\ writes' = [v \in W |->
          IF v = w THEN [state |-> "inv", by |-> n, epoch |-> epoch[n],
                         since |-> epoch[n], acks |-> {},
                         version |-> IF purge THEN origin + 1 ELSE None,
                         request |-> IF ~purge /\ ~On("INV first") THEN Reach ELSE 0,
                         alone |-> Settled(n, "item")]
          ELSE IF writes[v].by = n THEN [writes[v] EXCEPT !.alone = FALSE]
          ELSE writes[v]]
  /\ cache' = [cache EXCEPT ![n] = Fenced(n, {"item"})]
  /\ open'  = [open EXCEPT ![n] = @ \cup {<<w, "item">>}]
  /\ UNCHANGED <<views, item, mode, epoch, lease, proof, wait, adopted, sponsored,
                 books, pending, quar, recent>>

\* n receives INV(w), fences and acknowledges. It does not acknowledge a message
\* of another epoch than its own; it adopts the newer epoch with Renew. The message
\* may be of an earlier epoch of the round, if n has remained a member. A node
\* that has just left may still acknowledge, under its last epoch.
RecvInv(n, w) ==
  /\ writes[w].state \in {"inv", "more"} /\ n # writes[w].by
  /\ n \in views[writes[w].epoch] /\ n \notin writes[w].acks
  /\ mode[n] \in {"in", "joining", "left"}
  /\ \/ /\ writes[w].since <= epoch[n] /\ epoch[n] <= writes[w].epoch
        /\ \A e \in epoch[n] .. writes[w].epoch : n \in views[e]
     \/ ~On("epoch check")
  /\ LET first == writes[w].state = "inv"
         tags  == IF first THEN {"item"} ELSE FurtherTags(w)
         \* INV and VAL in one message: fenced now, and not held open.
         once  == IF ~first THEN ~On("further tags in two rounds")
                  ELSE IF Kinds[w] = "purge" THEN ~On("purge in two rounds")
                  ELSE ~On("INV holds")
     IN
     /\ cache' = [cache EXCEPT ![n] = Fenced(n, tags)]
     /\ open'  = [open EXCEPT ![n] = IF once \/ mode[n] = "left"
                                     THEN {p \in @ : p[1] # w}
                                     ELSE @ \cup {<<w, t>> : t \in tags}]
     /\ recent' = [recent EXCEPT ![n] = IF once THEN @ \cup AllTags(w) ELSE @]
     /\ writes' = [v \in W |->
          IF v = w THEN [writes[v] EXCEPT !.acks = @ \cup {n}]
          ELSE IF first /\ writes[v].by = n THEN [writes[v] EXCEPT !.alone = FALSE]
          ELSE writes[v]]
  /\ UNCHANGED <<origin, lag, views, item, mode, epoch, lease, proof, wait, adopted,
                 sponsored, books, pending, quar>>

\* All other members of the view have acknowledged.
Complete(w) ==
  LET r == writes[w]  others == views[r.epoch] \ {r.by} IN
  /\ r.state \in {"inv", "more"} /\ mode[r.by] = "in"
  /\ IF On("all acknowledge") THEN others \subseteq r.acks
     ELSE 2 * (Cardinality(r.acks \cap others) + 1) > Cardinality(others) + 1

\* The end of a write at its coordinator, and the answer to the client.
Commit(w) ==
  LET n == writes[w].by IN
  /\ writes' = [writes EXCEPT ![w] = End(@, "ok")]
  /\ open' = [open EXCEPT ![n] = {p \in @ : p[1] # w}]
  /\ recent' = [recent EXCEPT ![n] = @ \cup AllTags(w)]
  \* the entry that the write brings, if no other write overlapped
  /\ cache' = [cache EXCEPT ![n]["item"] =
       IF /\ Kinds[w] = "put" /\ mode[n] = "in"
          /\ writes[w].alone \/ ~On("put if alone")
       THEN writes[w].version ELSE @]

RoundDone(w) ==
  /\ Complete(w)
  /\ IF Kinds[w] = "purge" \/ writes[w].state = "more"
     THEN /\ lease[writes[w].by] > 0 \/ ~On("lease at send")
          /\ Commit(w)
     ELSE /\ writes' = [writes EXCEPT ![w].since = 0, ![w].state =
                          IF On("INV first") THEN "ready" ELSE "sent"]
          /\ UNCHANGED <<open, recent, cache>>
  /\ UNCHANGED <<origin, lag, views, item, mode, epoch, lease, proof, wait, adopted,
                 sponsored, books, pending, quar>>

\* The request is sent to the origin. The lease is checked just before. With
\* the rule off this is also the behaviour of a node that is stopped between
\* the check and the send.
Send(w) ==
  /\ writes[w].state = "ready" /\ mode[writes[w].by] # "down"
  /\ lease[writes[w].by] > 0 \/ ~On("lease at send")
  /\ writes' = [writes EXCEPT ![w].state = "sent", ![w].request = Reach]
  /\ UNCHANGED <<origin, lag, views, item, mode, epoch, lease, proof, wait, adopted,
                 sponsored, books, cache, pending, open, quar, recent>>

\* The coordinator refuses the write before it is sent: the lease is lost, or the
\* client has disconnected.
Refuse(w) ==
  LET n == writes[w].by IN
  /\ writes[w].state \in {"inv", "ready"} /\ writes[w].request = 0 /\ mode[n] # "down"
  /\ writes' = [writes EXCEPT ![w] = End(@, "unsent")]
  /\ open' = [open EXCEPT ![n] = {p \in @ : p[1] # w}]
  /\ UNCHANGED <<origin, lag, views, item, mode, epoch, lease, proof, wait, adopted,
                 sponsored, books, cache, pending, quar, recent>>

\* The origin executes the request, whatever has happened to the coordinator.
Apply(w) ==
  /\ writes[w].request > 0
  /\ origin' = origin + 1
  /\ writes' = [writes EXCEPT ![w].version = origin + 1, ![w].request = 0]
  /\ UNCHANGED <<lag, views, item, mode, epoch, lease, proof, wait, adopted,
                 sponsored, books, cache, pending, open, quar, recent>>

\* The origin's answer reaches the coordinator. Without further tags the client
\* is answered at once.
Answer(w) ==
  LET n == writes[w].by  further == FurtherTags(w) # {} /\ On("wait for further tags") IN
  /\ writes[w].state = "sent" /\ writes[w].version # None /\ mode[n] # "down"
  /\ CASE further /\ mode[n] = "in" /\ writes[w].epoch # 0 ->
            /\ writes' = [writes EXCEPT ![w].state = "more", ![w].epoch = epoch[n],
                                        ![w].since = epoch[n], ![w].acks = {}]
            /\ cache' = [cache EXCEPT ![n] = Fenced(n, FurtherTags(w))]
            /\ open' = [open EXCEPT ![n] = @ \cup {<<w, t>> : t \in FurtherTags(w)}]
            /\ UNCHANGED recent
       [] \/ further /\ (mode[n] # "in" \/ writes[w].epoch = 0)
          \/ ~On("answer without lease") /\ (lease[n] = 0 \/ writes[w].epoch = 0) ->
            /\ writes' = [writes EXCEPT ![w] = End(@, "unknown")]
            /\ open' = [open EXCEPT ![n] = {p \in @ : p[1] # w}]
            /\ UNCHANGED <<cache, recent>>
       [] OTHER -> Commit(w)
  /\ UNCHANGED <<origin, lag, views, item, mode, epoch, lease, proof, wait, adopted,
                 sponsored, books, pending, quar>>

\* The coordinator gives up: a timeout, a broken connection, or a client that
\* does not wait for the second round. All tags that the write may have touched
\* enter quarantine.
GiveUp(w) ==
  LET n == writes[w].by IN
  /\ writes[w].state \in {"sent", "more"} /\ mode[n] # "down"
  /\ writes' = [writes EXCEPT ![w] = [End(@, "unknown") EXCEPT
       !.request = IF @ > QuarUnknown THEN QuarUnknown ELSE @]]
  /\ open' = [open EXCEPT ![n] = {p \in @ : p[1] # w}]
  /\ cache' = [cache EXCEPT ![n] = Fenced(n, AllTags(w))]
  /\ quar' = [quar EXCEPT ![n] = [t \in Tags |->
       IF t \in AllTags(w) /\ On("quarantine of unknown") THEN QuarUnknown ELSE @[t]]]
  /\ UNCHANGED <<origin, lag, views, item, mode, epoch, lease, proof, wait, adopted,
                 sponsored, books, pending, recent>>

\* n receives VAL(w), or a message of the same sender whose lowest open write is
\* a later one. If an unknown write did not count as open until its VAL is
\* acknowledged, n could end it without a quarantine: "unknown stays open".
RecvVal(n, w) ==
  /\ writes[w].state \in {"ok", "unknown", "unsent"} /\ n # writes[w].by
  /\ \E p \in open[n] : p[1] = w
  /\ open' = [open EXCEPT ![n] = {p \in @ : p[1] # w}]
  /\ cache' = [cache EXCEPT ![n] = Fenced(n, AllTags(w))]
  /\ recent' = [recent EXCEPT ![n] = @ \cup AllTags(w)]
  /\ quar' = [quar EXCEPT ![n] = [t \in Tags |->
       IF /\ writes[w].state = "unknown" /\ t \in AllTags(w)
          /\ On("quarantine of unknown") /\ On("unknown stays open")
       THEN Max(@[t], QuarUnknown) ELSE @[t]]]
  /\ UNCHANGED <<origin, lag, views, item, writes, mode, epoch, lease, proof, wait,
                 adopted, sponsored, books, pending>>

-----------------------------------------------------------------------------
(* Actions: fills (rule 9) *)

\* n may keep a fill if no write of the tag is in flight. Without a lease it
\* keeps none: every read passes through, strongly consistent.
Keeps(n, t) == mode[n] = "in" /\ lease[n] > 0 /\ cache[n][t] = None /\ Settled(n, t)

\* The origin's possible answers. An index can't be read strongly: a read of it
\* less than settle after a write is not kept.
Answers(n, t) == IF t = "item" /\ t \in recent[n] THEN {origin} ELSE lag .. origin

Fill(n, t) ==
  /\ n \notin OnlyPeers /\ Keeps(n, t)
  /\ t = "item" \/ t \notin recent[n]
  /\ \E v \in Answers(n, t) :
       IF On("note") THEN cache' = [cache EXCEPT ![n][t] = v] /\ UNCHANGED pending
                     ELSE pending' = [pending EXCEPT ![n] = v] /\ UNCHANGED cache
  /\ t = "item" \/ On("note")
  /\ UNCHANGED <<origin, lag, views, item, writes, mode, epoch, lease, proof, wait,
                 adopted, sponsored, books, open, quar, recent>>

\* n asks a peer and gets the peer's entry, or the answer of the fill that the
\* peer has under way. The peer serves it by rule 1, as to any reader.
PeerFill(n, m, t) ==
  /\ n # m /\ Keeps(n, t) /\ cache[m][t] # None
  /\ mode[m] = "in" /\ (lease[m] > 0 \/ ~On("owner's lease"))
  /\ IF On("peer's note")
     THEN cache' = [cache EXCEPT ![n][t] = cache[m][t]] /\ UNCHANGED pending
     ELSE /\ t = "item"
          /\ pending' = [pending EXCEPT ![n] = cache[m][t]] /\ UNCHANGED cache
  /\ UNCHANGED <<origin, lag, views, item, writes, mode, epoch, lease, proof, wait,
                 adopted, sponsored, books, open, quar, recent>>

\* Only without notes: an answer is stored though a write has overtaken it.
Store(n) ==
  /\ pending[n] # None /\ mode[n] = "in" /\ Settled(n, "item")
  /\ cache' = [cache EXCEPT ![n]["item"] = pending[n]]
  /\ pending' = [pending EXCEPT ![n] = None]
  /\ UNCHANGED <<origin, lag, views, item, writes, mode, epoch, lease, proof, wait,
                 adopted, sponsored, books, open, quar, recent>>

-----------------------------------------------------------------------------
(* Actions: membership (rules 3 to 7) *)

Marked(m) == \E p \in item.marks : p[2] = m

\* What a read of the view proves to n now. A member that is marked gets no lease.
Proof(n) == [ep |-> Newest, left |-> IF Marked(n) /\ On("mark ends lease") THEN 0 ELSE L]

\* n has read the view item when it was views[p.ep], and p.left remains of the
\* lease that this proves. left is counted from before the read.
TakeProof(n, p) ==
  IF n \in views[p.ep]
  THEN /\ Adopt(n, p.ep)
       /\ lease' = [lease EXCEPT ![n] =
            IF mode[n] = "in" THEN Max(@, IF On("proof dated before") THEN p.left ELSE L)
                              ELSE 0]
       /\ UNCHANGED <<mode, wait, adopted, sponsored, books, cache, recent, pending>>
  ELSE Expel(n) /\ UNCHANGED epoch

\* A new proof: n reads the view and renews its lease, adopts a newer view, or
\* finds that it was taken out. In one step, or in two between which time passes.
Renew(n) ==
  /\ ~SlowProof /\ mode[n] \in {"in", "joining"}
  /\ views' = views /\ item' = item
  /\ TakeProof(n, Proof(n))
  /\ UNCHANGED <<origin, lag, proof>>

\* The answer to an earlier read may be lost.
ReadView(n) ==
  /\ SlowProof /\ mode[n] \in {"in", "joining"}
  /\ proof' = [proof EXCEPT ![n] = Proof(n)]
  /\ UNCHANGED <<origin, lag, views, item, writes, mode, epoch, lease, wait, adopted,
                 sponsored, books, cache, pending, open, quar, recent>>

GotView(n) ==
  /\ proof[n] # None /\ mode[n] \in {"in", "joining"}
  /\ views' = views /\ item' = item
  /\ IF proof[n].ep < epoch[n]    \* of an older view than the present one: dropped
     THEN UNCHANGED <<writes, mode, epoch, lease, wait, adopted, sponsored, books,
                      cache, pending, open, quar, recent>>
     ELSE TakeProof(n, proof[n])
  /\ proof' = [proof EXCEPT ![n] = None]
  /\ UNCHANGED <<origin, lag>>

\* n receives a view in a message, which proves nothing about the present.
AdoptView(n) ==
  /\ mode[n] \in {"in", "joining"}
  /\ views' = views /\ item' = item
  /\ \E e \in epoch[n] + 1 .. Newest : TakeProof(n, [ep |-> e, left |-> 0])
  /\ UNCHANGED <<origin, lag, proof>>

\* The marks without those by and on m.
MarksWithout(m) == {p \in item.marks : m \notin {p[1], p[2]}}

\* n marks m, which did not acknowledge in time: m can't renew its lease. A
\* joiner may do so too, or the first node after a power cut could not start.
\* A conditional write, like every action that changes views or item: n has
\* adopted the newest epoch.
Suspend(n, m) ==
  /\ n # m /\ {n, m} \subseteq Members /\ m \notin item.joining /\ Newest < MaxEpoch
  /\ mode[n] \in IF On("joiner evicts") THEN {"in", "joining"} ELSE {"in"}
  /\ epoch[n] = Newest
  /\ \/ mode[m] = "down" \/ Spurious = "all"
     \/ Spurious = "marks" /\ <<n, m>> \notin item.cleared
  /\ Marked(n) => On("marked may mark")
  /\ <<n, m>> \notin item.marks
  /\ item' = [item EXCEPT !.marks = @ \cup {<<n, m>>}]
  /\ wait' = [wait EXCEPT ![n][m] = Wait]
  /\ UNCHANGED <<origin, lag, views, writes, mode, epoch, lease, proof, adopted,
                 sponsored, books, cache, pending, open, quar, recent>>

\* m has acknowledged after all: n takes its mark back, and m keeps its entries.
Clear(n, m) ==
  /\ <<n, m>> \in item.marks /\ mode[n] \in {"in", "joining"} /\ mode[m] # "down"
  /\ item' = [item EXCEPT !.marks = @ \ {<<n, m>>},
                          !.cleared = IF Spurious = "marks" THEN @ \cup {<<n, m>>} ELSE @]
  /\ wait' = [wait EXCEPT ![n][m] = 0]
  /\ UNCHANGED <<origin, lag, views, writes, mode, epoch, lease, proof, adopted,
                 sponsored, books, cache, pending, open, quar, recent>>

\* n takes m out of the view: a member that it has marked, one Wait after the
\* mark, or a joining member, which has served nothing, at once. It adopts the
\* new view later, as the other members do.
Evict(n, m) ==
  /\ Newest < MaxEpoch /\ n # m /\ {n, m} \subseteq Members
  /\ mode[n] \in IF On("joiner evicts") THEN {"in", "joining"} ELSE {"in"}
  /\ epoch[n] = Newest
  /\ Spurious = "all" \/ mode[m] = "down"
  /\ \/ m \in item.joining
     \/ <<n, m>> \in item.marks /\ (wait[n][m] = 0 \/ ~On("evictor waits"))
     \/ ~On("mark first")
  /\ views' = Append(views, Members \ {m})
  /\ item' = [item EXCEPT !.joining = @ \ {m}, !.marks = MarksWithout(m)]
  /\ wait' = [wait EXCEPT ![n][m] = 0]
  /\ UNCHANGED <<origin, lag, writes, mode, epoch, lease, proof, adopted, sponsored,
                 books, cache, pending, open, quar, recent>>

\* n enters the view. If the item was lost, n creates it.
Join(n) ==
  /\ Newest < MaxEpoch /\ mode[n] = "out" /\ n \notin Members
  /\ views' = Append(views, Members \cup {n})
  /\ item' = [item EXCEPT !.joining = @ \cup {n}, !.lost = FALSE, !.clean = FALSE]
  /\ epoch' = [epoch EXCEPT ![n] = Newest + 1]
  /\ mode' = [mode EXCEPT ![n] = IF On("adoption") THEN "joining" ELSE "in"]
  /\ wait' = [wait EXCEPT ![n][n] = Wait]
  /\ sponsored' = [sponsored EXCEPT ![n] = item.clean]
  \* its own writes that may still be executed at the origin
  /\ open' = [open EXCEPT ![n] = {<<w, "item">> : w \in
                {v \in W : writes[v].by = n /\ writes[v].state = "sent"}}]
  /\ UNCHANGED <<origin, lag, writes, lease, proof, adopted, books, cache, pending,
                 quar, recent>>

\* n receives the books of a member, unless they are of an older view than its own.
Receive(n, a, q) ==
  LET late == a.epoch < epoch[n] /\ On("late books")
      Q(t) == IF On("hand-over of quarantine") THEN a.quar[t] ELSE 0
  IN
  IF late THEN open' = q.open /\ quar' = q.quar /\ UNCHANGED <<adopted, sponsored>>
  ELSE
  /\ adopted'   = [adopted EXCEPT ![n] = @ \cup {a.from}]
  /\ sponsored' = [sponsored EXCEPT ![n] = @ \/ a.serving]
  /\ open' = [q.open EXCEPT ![n] = IF On("hand-over") THEN @ \cup a.open ELSE @]
  /\ quar' = [q.quar EXCEPT ![n] = [t \in Tags |-> Max(@[t], Q(t))]]

\* m adopts the view with n and hands over its books, after adoption.
HandOver(m, n) ==
  /\ mode[n] = "joining" /\ m # n /\ m \notin adopted[n]
  /\ \A a \in books[n] : a.from # m
  /\ mode[m] \in {"in", "joining"} /\ m \in views[epoch[n]]
  /\ n \in views[Max(epoch[m], epoch[n])]
  /\ views' = views /\ item' = item
  /\ LET e     == Max(epoch[m], epoch[n])
         drop  == IF e > epoch[m] THEN Dropped(open[m], epoch[m], e) ELSE {}
         after == [open |-> [open EXCEPT ![m] = @ \ drop],
                   quar |-> [quar EXCEPT ![m] = QuarWith(m, drop)]]
         a     == [from |-> m, epoch |-> e, serving |-> mode[m] = "in",
                   quar |-> after.quar[m],
                   \* without the writes of an earlier membership of m: they are in
                   \* quarantine at other members, or the whole cluster is cold
                   open |-> {p \in after.open[m] :
                               writes[p[1]].by = m => writes[p[1]].epoch # 0}]
     IN
     /\ epoch' = [epoch EXCEPT ![m] = e]
     /\ writes' = [w \in W |->
          IF writes[w].by = m /\ e > epoch[m] THEN Restart(w, epoch[m], e) ELSE writes[w]]
     /\ IF SlowBooks
        THEN /\ books' = [books EXCEPT ![n] = @ \cup {a}]
             /\ open' = after.open /\ quar' = after.quar
             /\ UNCHANGED <<adopted, sponsored>>
        ELSE Receive(n, a, after) /\ UNCHANGED books
  /\ UNCHANGED <<origin, lag, mode, lease, proof, wait, cache, pending, recent>>

GotBooks(n) ==
  /\ mode[n] = "joining" /\ views' = views
  /\ \E a \in books[n] :
       /\ Receive(n, a, [open |-> open, quar |-> quar])
       /\ books' = [books EXCEPT ![n] = @ \ {a}]
  /\ UNCHANGED <<origin, lag, item, writes, mode, epoch, lease, proof, wait, cache,
                 pending, recent>>

\* All members have adopted a view with n: a conditional write takes n's mark
\* as a joiner away, and n serves as soon as it has a proof. What it had cached
\* before is out of reach, and it reads strongly for settle. If no serving
\* member has handed over its books, the item may be a new one: members of the
\* lost one may serve for another Wait, and n keeps nothing for another Reach. One
\* serving member would suffice (rule "all adopt" off): each round of the others needs
\* the acknowledgement of that one, which refuses the old epoch.
JoinDone(n) ==
  /\ mode[n] = "joining"
  /\ sponsored[n] \/ wait[n][n] = 0 \/ ~On("cold wait")
  /\ views[epoch[n]] \ {n} \subseteq adopted[n] \/ (sponsored[n] /\ ~On("all adopt"))
  /\ n \in Members \/ ~On("conditional join")
  /\ item' = [item EXCEPT !.joining = @ \ {n}]
  /\ mode' = [mode EXCEPT ![n] = "in"]
  /\ adopted'   = [adopted EXCEPT ![n] = {}]
  /\ sponsored' = [sponsored EXCEPT ![n] = FALSE]
  /\ books' = [books EXCEPT ![n] = {}]
  /\ cache' = IF On("join empties") THEN [cache EXCEPT ![n] = Empty] ELSE cache
  /\ recent' = [recent EXCEPT ![n] = IF On("join settles") THEN Tags ELSE @]
  /\ quar' = [quar EXCEPT ![n] = [t \in Tags |->
       IF ~sponsored[n] /\ On("cold quarantine") THEN Max(@[t], QuarRemoved) ELSE @[t]]]
  \* All generations move: a write that n began before brings no entry.
  /\ writes' = [w \in W |-> IF writes[w].by = n /\ On("join spoils puts")
                            THEN [writes[w] EXCEPT !.alone = FALSE] ELSE writes[w]]
  /\ UNCHANGED <<origin, lag, views, epoch, lease, proof, wait, pending, open>>

\* n has nothing left but its writes.
Forget(n) ==
  /\ lease' = [lease EXCEPT ![n] = 0]
  /\ proof' = [proof EXCEPT ![n] = None]
  /\ wait'  = [wait EXCEPT ![n] = [m \in Node |-> 0]]
  /\ adopted'   = [adopted EXCEPT ![n] = {}]
  /\ sponsored' = [sponsored EXCEPT ![n] = FALSE]
  /\ books' = [books EXCEPT ![n] = {}]
  /\ cache' = [cache EXCEPT ![n] = Empty]
  /\ pending' = [pending EXCEPT ![n] = None]
  /\ open'  = [open EXCEPT ![n] = {}]
  /\ quar'  = [quar EXCEPT ![n] = NoQuarantine]
  /\ recent' = [recent EXCEPT ![n] = {}]

\* Rule 7: n serves nothing any more; then it leaves. The view is clean if nothing
\* of the cluster is in flight after that.
Leave(n) ==
  /\ Leaves /\ Newest < MaxEpoch /\ mode[n] \in {"in", "joining"}
  /\ epoch[n] = Newest /\ n \in Members
  /\ views' = Append(views, Members \ {n})
  /\ item' = [item EXCEPT !.joining = @ \ {n}, !.marks = MarksWithout(n),
       !.clean = /\ Members = {n}
                 /\ \/ open[n] = {} /\ quar[n] = NoQuarantine
                    \/ ~On("clean if quiet")
                 /\ mode[n] = "in" \/ sponsored[n] \/ ~On("clean if served")]
  /\ IF On("leave serves nothing")
     THEN mode' = [mode EXCEPT ![n] = "left"] /\ Forget(n) /\ writes' = Abandoned(n)
          /\ UNCHANGED epoch
     ELSE UNCHANGED <<mode, writes, epoch, lease, proof, wait, adopted, sponsored,
                      books, cache, pending, open, quar, recent>>
  /\ UNCHANGED <<origin, lag>>

Crash(n) ==
  /\ Cardinality({m \in Node : mode[m] = "down"}) < MaxCrash
  /\ mode[n] \notin {"down", "left"}
  /\ mode' = [mode EXCEPT ![n] = "down"]
  /\ epoch' = [epoch EXCEPT ![n] = 0]
  /\ Forget(n)
  /\ writes' = [w \in W |->
       IF writes[w].by = n /\ writes[w].state \in {"inv", "ready", "sent", "more"}
       THEN End(writes[w], "dead") ELSE writes[w]]
  /\ UNCHANGED <<origin, lag, views, item>>

\* The view item is deleted. The epoch of the next one is higher than any before.
\* A joiner can't distinguish the loss from a first start, unless it is certain
\* that there was no cluster before.
LoseItem ==
  /\ Loses /\ ~item.lost /\ Newest < MaxEpoch
  /\ views' = Append(views, {})
  /\ item' = [item EXCEPT !.joining = {}, !.marks = {}, !.lost = TRUE,
                          !.clean = ~On("lost is not clean")]
  /\ UNCHANGED <<origin, lag, writes, mode, epoch, lease, proof, wait, adopted,
                 sponsored, books, cache, pending, open, quar, recent>>

-----------------------------------------------------------------------------
(* Time *)

\* d ticks pass.
Elapse(d) ==
  LET Left(a) == IF a > d THEN a - d ELSE 0 IN
  /\ lag' = origin                    \* the replicas have caught up: settle
  /\ \E stopped \in IF On("clocks run") THEN {{}} ELSE SUBSET Node :
       lease' = [n \in Node |-> IF n \in stopped THEN lease[n] ELSE Left(lease[n])]
  /\ wait' = [n \in Node |-> [m \in Node |-> Left(wait[n][m])]]
  /\ proof' = [n \in Node |-> IF proof[n] = None THEN None
                              ELSE [proof[n] EXCEPT !.left = Left(@)]]
  /\ quar' = [n \in Node |-> [t \in Tags |-> Left(quar[n][t])]]
  \* a quarantine that has just ended counts as a write
  /\ recent' = [n \in Node |-> {t \in Tags : quar[n][t] = d}]
  /\ writes' = [w \in W |-> [writes[w] EXCEPT !.request = Left(@)]]
  /\ UNCHANGED <<origin, views, item, mode, epoch, adopted, sponsored, books, cache,
                 pending, open>>

Tick == Elapse(1)

-----------------------------------------------------------------------------

Init ==
  \E M \in SUBSET Node :
  /\ Cardinality(M) = First
  /\ origin = 0 /\ lag = 0
  /\ views = <<M>>
  \* without members: a new cluster, or one whose last member has crashed
  /\ \E clean \in IF First = 0 THEN BOOLEAN ELSE {FALSE} :
       item = [joining |-> {}, marks |-> {}, cleared |-> {}, lost |-> FALSE,
               clean |-> clean]
  /\ writes = [w \in W |-> NewWrite]
  /\ mode = [n \in Node |-> IF n \in M THEN "in" ELSE "out"]
  /\ epoch = [n \in Node |-> IF n \in M THEN 1 ELSE 0]
  /\ lease = [n \in Node |-> IF n \in M THEN L ELSE 0]
  /\ proof = [n \in Node |-> None]
  /\ wait = [n \in Node |-> [m \in Node |-> 0]]
  /\ adopted = [n \in Node |-> {}]
  /\ sponsored = [n \in Node |-> FALSE]
  /\ books = [n \in Node |-> {}]
  /\ cache = [n \in Node |-> Empty]
  /\ pending = [n \in Node |-> None]
  /\ open = [n \in Node |-> {}]
  /\ quar = [n \in Node |-> NoQuarantine]
  /\ recent = [n \in Node |-> {}]

Next ==
  \/ Tick \/ LoseItem
  \/ \E w \in W : RoundDone(w) \/ Send(w) \/ Refuse(w) \/ Apply(w) \/ Answer(w) \/ GiveUp(w)
  \/ \E n \in Node :
       \/ Renew(n) \/ ReadView(n) \/ GotView(n) \/ AdoptView(n)
       \/ Join(n) \/ GotBooks(n) \/ JoinDone(n) \/ Leave(n) \/ Crash(n) \/ Store(n)
       \/ \E w \in W : Begin(n, w) \/ RecvInv(n, w) \/ RecvVal(n, w)
       \/ \E t \in Tags : Fill(n, t)
       \/ \E m \in Node : Suspend(n, m) \/ Clear(n, m) \/ Evict(n, m) \/ HandOver(m, n)
       \/ \E m \in Node, t \in Tags : PeerFill(n, m, t)

Spec == Init /\ [][Next]_vars

\* For liveness: live nodes make progress, only dead members are taken out, and
\* a write that was begun ends.
Fair ==
  /\ WF_vars(Tick)
  /\ \A n \in Node : /\ WF_vars(Renew(n)) /\ WF_vars(Join(n))
                     /\ WF_vars(GotBooks(n)) /\ WF_vars(JoinDone(n))
  /\ \A n, m \in Node : /\ WF_vars(mode[m] = "down" /\ Suspend(n, m))
                        /\ WF_vars(Clear(n, m)) /\ WF_vars(Evict(n, m))
                        /\ WF_vars(HandOver(m, n))
  /\ \A n \in Node, w \in W : WF_vars(RecvInv(n, w))
  /\ \A w \in W : SF_vars(RoundDone(w)) /\ SF_vars(Send(w)) /\ WF_vars(Answer(w) \/ GiveUp(w))

\* A message that is needed is sent again until it arrives.
Resent == \A n \in Node, w \in W : WF_vars(RecvVal(n, w))

LiveSpec == Spec /\ Fair /\ Resent
LiveSpecValOnce == Spec /\ Fair       \* mutation: VAL is sent once, and lost

Symmetry == Permutations(Node)

-----------------------------------------------------------------------------
(* Properties *)

TypeOK ==
  /\ origin \in 0 .. Len(Kinds) /\ lag \in 0 .. origin
  /\ \A n \in Node :
       /\ mode[n] \in {"in", "joining", "out", "down", "left"}
       /\ epoch[n] \in 0 .. Newest /\ lease[n] \in 0 .. L
       /\ \A m \in Node : wait[n][m] \in 0 .. Wait
       /\ \A t \in Tags : cache[n][t] \in 0 .. origin \cup {None}
                          /\ quar[n][t] \in 0 .. Reach
       /\ open[n] \subseteq W \X Tags
  /\ \A w \in W : writes[w].state \in {"new", "inv", "ready", "sent", "more"} \cup Ended

\* The newest version of an acknowledged write of one of these kinds.
Acked(kinds) ==
  LET vs == {writes[w].version : w \in {v \in W : writes[v].state = "ok" /\ Kinds[v] \in kinds}}
  IN IF vs = {} THEN 0 ELSE CHOOSE v \in vs : \A u \in vs : u <= v

\* The newest version that a strongly consistent read may have returned: all
\* that the origin has executed.
Seen ==
  LET vs == {writes[w].version : w \in {v \in W : writes[v].version # None /\ Kinds[v] # "purge"}}
  IN IF vs = {} THEN 0 ELSE CHOOSE v \in vs : \A u \in vs : u <= v

Served(n, t) == Serves(n) /\ cache[n][t] # None

\* (1) A read that begins after a write was acknowledged returns it or a later one.
ReadYourWrites == \A n \in Node : Served(n, "item") => cache[n]["item"] >= Acked({"put", "index"})

\* (2) Reads are monotone. A strongly consistent read may take place at any time
\* and return origin: so no node ever serves anything older. This implies (1)
\* for the item.
Monotone == \A n \in Node : Served(n, "item") => cache[n]["item"] >= Seen

\* A read that passes through without a lease is strongly consistent.
PassedThrough == On("strong without lease") \/
  \A n \in Node : mode[n] \notin {"down", "left"} /\ ~Serves(n) => lag >= Acked({"put", "index"})

\* (1) for a query of the index: no older than the acknowledged writes.
IndexFollows == \A n \in Node : "index" \in Tags /\ Served(n, "index") =>
                                  cache[n]["index"] >= Acked({"index"})

\* (3) After a purge was answered nothing from before it is served.
Purged == \A n \in Node : Served(n, "item") => cache[n]["item"] >= Acked({"purge"})

\* The base of the proof: a node that serves has each write in its books that
\* the origin may execute now or later.
BooksComplete == \A w \in W, n \in Node :
  (writes[w].request > 0 /\ Serves(n)) => ~Settled(n, "item")

\* A node has no open writes of others than members: no message would end these.
FencesOfMembers == \A n \in Node : \A p \in open[n] : LET m == writes[p[1]].by IN
  m = n \/ \E e \in epoch[n] .. Newest : m \in views[e]

\* (4) A write ends, and so does its fence.
WriteEnds == \A w \in W : writes[w].state \in {"inv", "ready", "sent", "more"}
                            ~> writes[w].state \in Ended
FenceEnds == \A n \in Node, w \in W :
  (<<w, "item">> \in open[n]) ~> (<<w, "item">> \notin open[n])

\* While a node lives, there is one that serves.
ServesAgain == []<>(\E n \in Node : Serves(n))

-----------------------------------------------------------------------------
(* Clients' writes, for the configurations *)

OnePut     == <<"put">>
TwoPuts    == <<"put", "put">>
OneIndex   == <<"index">>
OnePurge   == <<"purge">>
PutPurge   == <<"put", "purge">>
IndexPurge == <<"index", "put", "purge">>

-----------------------------------------------------------------------------
(* Witnesses: TLC must violate these, which shows that the model gets there *)

\* A node that only peers can fill serves the newest version; the coordinator of
\* the write has crashed and was taken out; and the node was not a first member.
NoWarmFailover == ~ \E n \in OnlyPeers :
  /\ Serves(n) /\ n \notin views[1] /\ cache[n]["item"] # None
  /\ writes[1].state = "ok" /\ mode[writes[1].by] = "down" /\ writes[1].by \notin Members
  /\ cache[n]["item"] = writes[1].version

\* A write by the last one of the first members succeeds.
NoLastOne == ~ \E n \in Node, w \in W :
  Members = {n} /\ writes[w].by = n /\ writes[w].state = "ok" /\ First >= 2

\* A write whose coordinator has crashed is executed after its removal.
NoLateWrite == ~ \E w \in W :
  writes[w].version # None /\ writes[w].state = "dead" /\ writes[w].by \notin Members

\* A node that was taken out is back and serves.
NoReturn == ~ \E n \in Node : n \in views[1] /\ Serves(n) /\ n \in Members
                /\ \E e \in 1 .. Newest : n \notin views[e]

\* A member that was marked keeps its entry and serves it after the mark is gone.
NoPardon == ~ \E p \in item.cleared :
  Serves(p[2]) /\ cache[p[2]]["item"] # None /\ p[2] \in Members /\ lease[p[2]] = L

\* Two nodes serve after the item was lost.
NoNewItem == ~ /\ \E e \in 1 .. Newest : views[e] = {}
               /\ Cardinality({n \in Node : Serves(n) /\ n \in Members}) >= 2

=============================================================================
