# Functions for the set-up scripts, which source this file. They install everything below
# .tools/, which git ignores: deleting that folder removes it.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.tools
export ROOT TOOLS

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# need PROGRAM DEBIAN-PACKAGE BREW-PACKAGE WHY ensures that PROGRAM is installed: as root
# on Debian it installs the package, elsewhere it prints how to.
need() {
	have "$1" && return 0
	install_package "$@"
	have "$1" || die "$1 is still not found after installing $2"
}

# install_package is need without the check for an installed program.
install_package() {
	local program=$1 debian=$2 brew=$3 why=$4
	if have apt-get && [ "$(id -u)" = 0 ]; then
		say "installing $debian ($why)"
		if ! apt_install "$debian"; then
			apt-get -q update >&2 || die "apt-get update failed"
			apt_install "$debian" || die "apt-get could not install $debian"
		fi
		return 0
	fi
	say "$program is needed ($why). Install it with one of:"
	say "  Debian, Ubuntu:  sudo apt-get install $debian"
	say "  macOS:           brew install $brew"
	exit 1
}

apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "$1" >&2
}

# need_go ensures that Go is installed, in the version of go.mod or one that can fetch it.
need_go() {
	have go && return 0
	[ -x /usr/local/go/bin/go ] && { PATH=$PATH:/usr/local/go/bin; return 0; }
	die "Go is needed: the version named in go.mod, from https://go.dev/dl or 'brew install go'"
}

# libraries prints the folders of the modules that programs import: all modules of go.work except
# the root. GOTOOLCHAIN may select a version of Go that is too old for the root.
libraries() { (cd "$ROOT" && GOTOOLCHAIN="" go list -m -f '{{.Dir}}') | grep -vxF "$ROOT"; }

# in_libraries COMMAND... runs a command in the folder of each library as in a program: outside of
# the workspace, with the lowest versions of dependencies and without our other modules.
in_libraries() {
	local module libraries
	libraries=$(libraries)
	for module in $libraries; do
		(cd "$module" && GOWORK=off "$@")
	done
}

# in_others COMMAND... runs a command in the folder of each module that is not in go.work.
in_others() {
	local module
	for module in integration scripts/release; do
		(cd "$ROOT/$module" && "$@")
	done
}

# in_modules COMMAND... runs a command in the folders of all modules.
in_modules() {
	(cd "$ROOT" && "$@")
	in_libraries "$@"
	in_others "$@"
}

# need_java WHY ensures that the compiler of Java 17 or newer is installed.
need_java() {
	if ! java_is_new_enough; then
		# Homebrew keeps its JDK out of the PATH.
		local jdk
		for jdk in /opt/homebrew/opt/openjdk@17 /usr/local/opt/openjdk@17; do
			[ -x "$jdk/bin/javac" ] && PATH=$jdk/bin:$PATH
		done
	fi
	java_is_new_enough || install_package javac openjdk-17-jdk-headless openjdk@17 "$1"
	java_is_new_enough || die "javac 17 or newer is needed; found: $(javac -version 2>&1)"
}

java_is_new_enough() {
	have javac || return 1
	local version
	version=$(javac -version 2>&1 | sed -E 's/^javac ([0-9]+).*/\1/')
	[ "$version" -ge 17 ] 2>/dev/null
}

# fresh STAMP FILE... succeeds if STAMP records the current content of the FILEs, so that
# their products need not be made again.
fresh() {
	local stamp=$1
	shift
	[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(digest "$@")" ]
}

digest() { cat "$@" | cksum; }

# free_port prints a free TCP port of the loopback interface.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# on_debian succeeds if Debian packages can be fetched and unpacked.
on_debian() { have apt-get && have dpkg-deb; }

# unpack HOME PACKAGE... unpacks Debian packages and their missing dependencies in
# HOME/root. Nothing is installed, and no server starts.
unpack() {
	local home=$1 new=$1.new
	shift
	say "fetching $* below ${home#"$ROOT"/}"
	rm -rf "$new"
	mkdir -p "$new/packages" "$new/root"
	download "$new/packages" "$@" || { apt-get -q update >&2 && download "$new/packages" "$@"; } || die "apt-get could not download $*"
	local package
	for package in "$new"/packages/*.deb; do
		dpkg-deb -x "$package" "$new/root"
	done
	rm -rf "$new/packages" "$home"
	mv "$new" "$home"
}

# download FOLDER PACKAGE... downloads packages and their missing dependencies. apt-get's
# plan of an installation has the dependencies' names in this release.
download() {
	local folder=$1 plan
	shift
	plan=$(apt-get -s --no-install-recommends install "$@") || return 1
	# A version in brackets is that of an installed package that would be replaced.
	plan=$(awk '$1 == "Inst" && $3 !~ /^\[/ { print $2 }' <<<"$plan")
	(cd "$folder" && apt-get -q -o APT::Sandbox::User=root download $(printf '%s\n' "$@" $plan | sort -u) >&2)
}
