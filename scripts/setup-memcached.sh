#!/usr/bin/env bash
# Makes .tools/memcached: memcached, twemproxy and the clients that the tests of services
# of type memcached write with, as Debian has them, each to be started by a script in
# .tools/memcached/bin. Nothing is installed into the system, and no server starts.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/memcached
packages="memcached sasl2-bin libsasl2-modules libsasl2-modules-db nutcracker libcache-memcached-fast-perl libcache-memcached-perl php-cli php-memcached php-memcache ruby ruby-dalli"
pins=$ROOT/integration/python/memcached.txt
fresh "$home/.stamp" "$pins" "$0" && exit 0
if ! on_debian; then
	say "no Debian: the tests in integration/memcached need these programs in .tools/memcached/bin:"
	say "  memcached   with SASL, and saslpasswd2: from source with --enable-sasl, brew install cyrus-sasl"
	say "  nutcracker  brew install twemproxy"
	say "  perl        with Cache::Memcached::Fast and Cache::Memcached: brew install perl cpanminus, cpanm ..."
	say "  php         with the extensions memcached and memcache: brew install php libmemcached, pecl install memcached memcache"
	say "  python      with pylibmc and others: brew install libmemcached, pip install -r integration/python/memcached.txt"
	say "  ruby        with dalli: brew install ruby, gem install dalli"
	exit 0
fi
"$(dirname "$0")/setup-python.sh"
unpack "$home" $packages
say "installing pylibmc and other clients below .tools/memcached"
"$TOOLS/python/bin/python" -m pip install -q --disable-pip-version-check --no-input --target "$home/python" -r "$pins" >&2
mkdir "$home/bin"

# script NAME COMMAND makes a script of that name. It takes the system's program where
# that was installed already, so that there is none among the packages.
script() {
	cat >"$home/bin/$1" <<END
#!/bin/sh
home=\$(cd "\$(dirname "\$0")/.." && pwd)
root=\$home/root
PATH=\$root/usr/bin:\$root/usr/sbin:\$PATH
LD_LIBRARY_PATH=\$(echo "\$root"/usr/lib/*-linux-gnu)
SASL_PATH=\$(echo "\$root"/usr/lib/*-linux-gnu/sasl2)
export PATH LD_LIBRARY_PATH SASL_PATH
$2
END
	chmod +x "$home/bin/$1"
}

script memcached 'exec memcached "$@"'
script saslpasswd2 'exec saslpasswd2 "$@"'
script nutcracker 'exec nutcracker "$@"'
script perl 'for folder in "$root"/usr/lib/*/perl5/* "$root/usr/share/perl5"; do libraries=$folder${libraries:+:$libraries}; done
PERL5LIB=$libraries exec perl "$@"'
script php 'for program in "$root"/usr/bin/php[0-9]* php; do break; done
for folder in "$root"/usr/lib/php/2*; do :; done
exec "$program" -n -d extension_dir="$folder" -d extension=igbinary -d extension=msgpack -d extension=memcached -d extension=memcache "$@"'
script ruby 'for folder in "$root"/usr/lib/ruby/3* "$root"/usr/lib/*/ruby/3* "$root"/usr/share/rubygems-integration/*/gems/dalli*/lib; do
	libraries=$folder${libraries:+:$libraries}
done
RUBYLIB=$libraries exec ruby --disable-gems "$@"'
script python 'PYTHONPATH=$home/python exec "$home/../python/bin/python" "$@"'
digest "$pins" "$0" >"$home/.stamp"
