#!/usr/bin/env bash
# Fetches DynamoDB Local with Maven into .tools/dynamodb-local and compiles the class that
# binds it to loopback. Prints nothing if it is installed already.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/dynamodb-local
source=$ROOT/scripts/dynamodb-local

need_java "DynamoDB Local needs Java 17 or newer"
fresh "$home/.stamp" "$source"/* && exit 0
need mvn maven maven "fetches DynamoDB Local"

say "fetching DynamoDB Local (about 50 MB, once)"
rm -rf "$home"
mkdir -p "$home"
mvn -q -B -f "$source/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
	-DoutputDirectory="$home/lib" -DincludeScope=runtime </dev/null >&2
javac -cp "$home/lib/*" -d "$home/classes" "$source/LoopbackDynamoDB.java"
digest "$source"/* >"$home/.stamp"
