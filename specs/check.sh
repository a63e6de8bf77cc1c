#!/usr/bin/env bash
# check.sh [spec|soak|PATTERN] checks KasokuCluster.tla with TLC: the models of models.txt
# that belong to make spec, the ones of make soak, or the ones whose name matches PATTERN
# (default: all). It prints a table, and fails if a model has another result than expected.
#
# JOBS is the number of models that run side by side (default: one for each processor),
# WORKERS the number of threads of each (1), HEAP its memory (2g), LIMIT its time in seconds
# (900), BEHAVIOURS the number of random behaviours (20000), SEED their seed. TRACES is a
# folder for TLC's output.
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"
specs=$ROOT/specs
promises='TypeOK ReadYourWrites Monotone Purged IndexFollows PassedThrough'

trim() { sed -E 's/^[[:space:]]+//; s/[[:space:]]+$//' <<<"$1"; }

# config HOW NODES CONSTANTS OFF PROPERTIES prints a TLC configuration.
config() {
	local how=$1 nodes=$2 constants=$3 off=$4 properties=$5 set=() pair key value
	set=(-e '/^INVARIANTS/d' -e "s|^  Node = .*|  Node = {$nodes}|")
	for pair in $constants; do
		key=${pair%%=*} value=${pair#*=}
		set+=(-e "s/^  $key (=|<-) (.*)/  $key \\1 $value/")
		# Nodes with different roles are not symmetric.
		if [ "$key" = OnlyPeers ]; then set+=(-e '/^SYMMETRY/d'); fi
	done
	case $how in
	live) set+=(-e 's/^SPECIFICATION .*/SPECIFICATION LiveSpec/' -e '/^SYMMETRY/d') ;;
	once) set+=(-e 's/^SPECIFICATION .*/SPECIFICATION LiveSpecValOnce/' -e '/^SYMMETRY/d') ;;
	esac
	if [ -n "$off" ]; then set+=(-e "s/^  Off = .*/  Off = {\"${off//, /\", \"}\"}/"); fi
	sed -E "${set[@]}" "$specs/KasokuCluster.cfg"
	case $how in
	live | once) echo "PROPERTIES $properties" ;;
	*)
		if [ -z "$off$properties" ]; then properties="$promises BooksComplete FencesOfMembers"; fi
		echo "INVARIANTS ${properties:-$promises}"
		;;
	esac
}

# result OUTPUT prints TLC's result: holds, a property, temporal, or unfinished.
result() {
	local found
	found=$(sed -n -e 's/^Error: Invariant \(.*\) is violated.*/\1/p' \
		-e 's/^Error: Temporal properties were violated.*/temporal/p' "$1" | head -1)
	if [ -z "$found" ] && ! grep -q '^Error' "$1" && grep -q '^Finished in' "$1"; then found=holds; fi
	echo "${found:-unfinished}"
}

# run LINE checks one model and prints a row of the table.
run() {
	local name when how nodes expected constants off properties fields field i=0
	IFS=';' read -r -a fields <<<"$1;"
	for field in name when how nodes expected constants off properties; do
		printf -v "$field" '%s' "$(trim "${fields[i]:-}")"
		i=$((i + 1))
	done
	local work out arguments=() start=$SECONDS java=(java -Xmx"${HEAP:-2g}" -XX:+UseSerialGC)
	work=$(mktemp -d)
	out=$work/$name.out
	cp "$specs/KasokuCluster.tla" "$work"
	case $nodes in 2) nodes='n1, n2' ;; 3) nodes='n1, n2, n3' ;; esac
	config "$how" "$nodes" "$constants" "$off" "$properties" >"$work/$name.cfg"
	if [ "$how" = random ]; then
		arguments=(-simulate "num=${BEHAVIOURS:-20000}" -depth 100 ${SEED:+-seed "$SEED"})
	fi
	# A short run is over before the better compiler pays off.
	if [ "$when" = spec ]; then java+=(-XX:TieredStopAtLevel=1); fi
	# TLC writes its standard modules there, and removes them at the end.
	java+=(-Djava.io.tmpdir="$work")
	(cd "$work" && timeout "${LIMIT:-900}" "${java[@]}" -cp "$TLC" tlc2.TLC \
		${arguments[@]+"${arguments[@]}"} -workers "${WORKERS:-1}" \
		-metadir "$work/states" -config "$name.cfg" KasokuCluster) >"$out" 2>&1 || true
	local found length states
	found=$(result "$out")
	length=$(grep -c '^State [0-9]' "$out" || true)
	if [ "$length" = 0 ]; then
		length=$(sed -n 's/^The depth of the complete state graph search is \([0-9]*\).*/\1/p' "$out")
	fi
	states=$(sed -nE 's/^(Progress.*: )?[0-9,]+ states generated.*, ([0-9,]+) distinct.*/\2/p' "$out" | tail -1)
	printf '%-20s %-15s %-15s %12s %7s %8s\n' "$name" "$expected" "$found" "${states:--}" "${length:--}" $((SECONDS - start))
	if [ -n "${TRACES:-}" ]; then mkdir -p "$TRACES" && cp "$out" "$work/$name.cfg" "$TRACES"; fi
	rm -rf "$work"
	[ "$found" = "$expected" ]
}

TLC=$("$ROOT/scripts/setup-tlc.sh")
if [ "${1:-}" = --model ]; then
	run "$2"
	exit
fi
which=${1:-*}
printf '%-20s %-15s %-15s %12s %7s %8s\n' model expected found states depth seconds
models=()
while read -r line; do
	case $line in '' | '#'*) continue ;; esac
	name=${line%%;*}
	when=$(trim "$(cut -d';' -f2 <<<"$line")")
	# shellcheck disable=SC2053
	if [ "$which" = "$when" ] || [[ $name == $which ]]; then models+=("$line"); fi
done <"$specs/models.txt"
[ ${#models[@]} -gt 0 ] || die "no model is named $which"
# xargs fails if a model does.
printf '%s\0' "${models[@]}" | xargs -0 -n 1 -P "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" "$specs/check.sh" --model || die "a model has another result than expected"
