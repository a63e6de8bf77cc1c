# Writes what it reads as JSON on its standard input, with the options of
# Cache::Memcached::Fast: {"client": {...}, "items": [[key, value, seconds], ...]}.
# Prints how many were stored. Keys and values are stored as UTF-8.
use strict;
use warnings;
use Cache::Memcached::Fast;
use JSON::PP;

binmode STDIN;
local $/;
my $job = JSON::PP->new->utf8->decode(<STDIN>);
my $client = Cache::Memcached::Fast->new($job->{client});
my $stored = 0;
for my $item (@{$job->{items}}) {
	my ($key, $value, $seconds) = @$item;
	utf8::encode($_) for $key, $value;
	$client->set($key, $value, $seconds || 0) and $stored++;
}
print $stored;
