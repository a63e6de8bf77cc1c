# Prints the value of a key as Perl's clients read it: read.pl CLASS ADDRESS KEY.
use strict;
use warnings;

my ($class, $address, $key) = @ARGV;
eval "require $class" or die $@;
my $value = $class->new({servers => [$address]})->get($key);
die "$key is not there" unless defined $value;
binmode STDOUT;
print $value;
