#!/usr/bin/env bash
# Fetches DynamoDB Local with Maven into .tools/dynamodb-local and compiles the
# class that keeps it on loopback. Prints nothing when all is there already.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/dynamodb-local
source=$ROOT/scripts/dynamodb-local

# DynamoDB Local 2.x and the class need Java 17 and its compiler.
java_is_new_enough() {
	have javac || return 1
	local version
	version=$(javac -version 2>&1 | sed -E 's/^javac ([0-9]+).*/\1/')
	[ "$version" -ge 17 ] 2>/dev/null
}

if ! java_is_new_enough; then
	# Homebrew keeps its JDK out of the PATH.
	for jdk in /opt/homebrew/opt/openjdk@17 /usr/local/opt/openjdk@17; do
		[ -x "$jdk/bin/javac" ] && PATH=$jdk/bin:$PATH
	done
fi
java_is_new_enough || install_package javac openjdk-17-jdk-headless openjdk@17 "DynamoDB Local needs Java 17 or newer"
java_is_new_enough || die "javac 17 or newer is needed; found: $(javac -version 2>&1)"

fresh "$home/.stamp" "$source"/* && exit 0
need mvn maven maven "fetches DynamoDB Local"

say "fetching DynamoDB Local (about 50 MB, once)"
rm -rf "$home"
mkdir -p "$home"
mvn -q -B -f "$source/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
	-DoutputDirectory="$home/lib" -DincludeScope=runtime </dev/null >&2
javac -cp "$home/lib/*" -d "$home/classes" "$source/LoopbackDynamoDB.java"
digest "$source"/* >"$home/.stamp"
