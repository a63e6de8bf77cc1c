# Prints the value of a key as dalli reads it: read.rb ADDRESS KEY.
require 'dalli'

address, key = ARGV
value = Dalli::Client.new(address).get(key)
raise "#{key} is #{value.inspect}" unless value.is_a?(String)

$stdout.binmode
print value
