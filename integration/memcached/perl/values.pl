# Writes values in each of the forms that Perl's clients have: values.pl ADDRESS FILE, where
# FILE is a text in UTF-8.
use strict;
use warnings;
use Cache::Memcached;
use Cache::Memcached::Fast;

my ($address, $file) = @ARGV;
open my $in, '<:raw', $file or die "$file: $!";
my $bytes = do { local $/; <$in> };
my $text = $bytes;
utf8::decode($text) or die "$file is not UTF-8";

sub store {
	my ($key, $value, %options) = @_;
	my $client = Cache::Memcached::Fast->new({servers => [$address], %options});
	$client->set($key, $value) or die "$key is not stored";
}

store('cmf-plain', $bytes);
store('cmf-utf8', $text, utf8 => 1);
store('cmf-gzip', $bytes, compress_threshold => 100);
store('cmf-utf8-gzip', $text, utf8 => 1, compress_threshold => 100);
store('cmf-short', 'short', compress_threshold => 100);
store('cmf-number', 1000);
store('cmf-storable', {text => $bytes});
store('cmf-storable-gzip', {text => $bytes}, compress_threshold => 100);

my $older = Cache::Memcached->new({servers => [$address], compress_threshold => 100});
$older->set('perl-gzip', $bytes) or die 'perl-gzip is not stored';
$older->set('perl-storable', [$bytes]) or die 'perl-storable is not stored';
$older->enable_compress(0);
$older->set('perl-plain', $bytes) or die 'perl-plain is not stored';
