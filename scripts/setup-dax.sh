#!/usr/bin/env bash
# Makes .tools/dax-java: the DAX client for Java with its dependencies, fetched with Maven,
# and the test's program. setup-python.sh and setup-node.sh install the clients for Python
# and JavaScript.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/dax-java
source=$ROOT/integration/dax/java
need_java "the DAX client for Java needs it"

if ! fresh "$home/.stamp" "$source/pom.xml"; then
	need mvn maven maven "fetches the DAX client for Java"
	say "fetching the DAX client for Java (about 12 MB, once)"
	rm -rf "$home"
	mkdir -p "$home"
	mvn -q -B -f "$source/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
		-DoutputDirectory="$home/lib" -DincludeScope=runtime </dev/null >&2
	digest "$source/pom.xml" >"$home/.stamp"
fi
fresh "$home/.compiled" "$source/Driver.java" && exit 0
javac -nowarn -proc:none -cp "$home/lib/*" -d "$home/classes" "$source/Driver.java"
digest "$source/Driver.java" >"$home/.compiled"
